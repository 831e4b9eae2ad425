/**
 * Bytes of a file that nobody has proven yet: reads them in few requests (`FileBytes`), finds the footer
 * (`FooterBytes`) and what it says of encryption (`FileTail`), and walks over Thrift before anything is allocated
 * (`ThriftBounds`). `Limits` holds the most that a length in a file may be. Knows no key. Start with `FileTail`; a
 * new limit goes to `Limits`.
 */
package io.pmeparquet.parquet.bytes;
