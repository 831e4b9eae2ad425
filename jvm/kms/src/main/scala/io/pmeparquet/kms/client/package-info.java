/**
 * What every KMS client that is a class shares, our own as well as users'. `ClientClassKms` is a KMS behind such a class,
 * with the settings `ClientClassSettings`; `IcebergClient` makes a client of Iceberg's kind one of parquet-java's kind.
 * `KmsOptionReader` reads options: `DriverOptionReader` on the driver, `ConfOptionReader` from the configuration that a
 * client gets. Clients in this jar are a `ParquetJavaClient`. Clients in jars of their own use Java's types only:
 * `KmsClientSettings` has their options, `CloudKms` makes calls (over `KmsRest`, with the tokens of a `KmsLogin`),
 * `KmsFailure` is what they throw, and `SigningClient` what they are if the KMS signs. Knows no KMS by name. Start with
 * `ClientClassKms`.
 */
package io.pmeparquet.kms.client;
