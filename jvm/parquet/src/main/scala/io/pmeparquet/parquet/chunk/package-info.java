/**
 * One column chunk: its pages, decrypted (`Modules`), decompressed (`Codecs`) and checked before decoders believe
 * them (`EncodingBounds`). `ChunkSource` is a chunk with what opens it. `ChunkPages` serves readers; `StoredPages`
 * and `PageOpener` serve those who do not decode. Every length is checked before it is used. Knows bytes and ciphers,
 * and neither footers nor scopes. To change how a page is opened: `PageHeaders` checks its header for every reader
 * (`ChunkPages`, `PageOpener` and `HeaderCheck` use it); `DataPages`, `ChunkDictionary` and `V2Parts` open its body.
 */
package io.pmeparquet.parquet.chunk;
