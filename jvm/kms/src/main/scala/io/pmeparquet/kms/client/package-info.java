/**
 * What every KMS client that is a class shares, our own as well as users': values of options (`ClientValues`),
 * parquet-java's and Iceberg's interfaces (`ClientClassKms`, `IcebergClient`), signatures (`SigningClient`), failures (`KmsFailure`), logins and
 * calls over HTTP for clients in jars of their own (`KmsLogin`, `KmsRest`, `KmsClientSettings`, with Java's types
 * only). Knows no KMS by name. Start with `ClientClassKms`.
 */
package io.pmeparquet.kms.client;
