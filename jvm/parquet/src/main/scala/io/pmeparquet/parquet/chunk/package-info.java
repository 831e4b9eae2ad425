/**
 * One column chunk: its pages, decrypted (`Modules`), decompressed (`Codecs`) and checked before decoders believe
 * them (`EncodingBounds`). `ChunkSource` is a chunk with its ciphers. `ChunkPages` serves readers of values;
 * `CompressedPageReader` serves copies (through `StoredPages`), verification and layouts, which do not decompress.
 * Every length is checked before it is used. Knows bytes and ciphers, and neither footers nor scopes. To change how a
 * page is opened: `PageHeaders` checks its header for all (`ChunkPages`, `CompressedPageReader` and `HeaderCheck` use
 * it); `DataPages`, `ChunkDictionary` and `V2Parts` open its body.
 */
package io.pmeparquet.parquet.chunk;
