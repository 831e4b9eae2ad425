/**
 * Key material: how a file says which master key wraps its data keys. Reads and writes the JSON of parquet-java
 * (`KeyMaterial`, `KeyMetadata`, `MaterialFile`), wraps data keys on write (`DataKeyWrapper`) and unwraps them on read
 * (`DataKeyUnwrapper`). Knows a `KeySource` to ask, and no KMS. Start with `KeyMaterial`.
 */
package io.pmeparquet.material;
