/**
 * One column chunk: its pages, decrypted (`Modules`), decompressed (`Codecs`) and checked before decoders believe
 * them (`EncodingBounds`). `ChunkPages` is all of the path from a decoder that asks for a page to the cipher.
 * `CompressedPageReader` serves copies (through `StoredPages`), verification and layouts, which do not decompress, and
 * `HeaderCheck` Spark's own reader. What these three share is in `PageOpener`, which they extend: to change how a
 * header or a V2 page is opened, start there. Every length is checked before it is used. Knows bytes and ciphers, and
 * neither footers nor scopes.
 */
package io.pmeparquet.parquet.chunk;
