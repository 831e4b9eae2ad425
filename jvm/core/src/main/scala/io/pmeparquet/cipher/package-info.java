/**
 * The cipher suite of Parquet Modular Encryption: how a module is framed (`ModuleFrame`), what its AAD is
 * (`ModuleAad`), and the ciphers that open and seal it (`AesGcm`, `AesCtr`). `CryptoProvider` chooses the JCE provider and
 * tests it. Knows bytes, and no file. Start with `ModuleCipher`.
 */
package io.pmeparquet.cipher;
