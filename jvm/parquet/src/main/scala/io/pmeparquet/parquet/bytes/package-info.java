/**
 * Bytes of a file that are not authenticated yet: reads them in few requests (`FileBytes`), finds the footer
 * (`FooterBytes`) and its encryption metadata (`FileTail`), and walks over Thrift before anything is allocated
 * (`ThriftBounds`). `Limits` holds the largest lengths that a file may claim. Knows no key. Start with `FileTail`; a
 * new limit goes to `Limits`.
 */
package io.pmeparquet.parquet.bytes;
