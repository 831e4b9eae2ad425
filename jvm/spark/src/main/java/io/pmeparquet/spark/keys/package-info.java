/**
 * How executors ask their driver for keys (`kms.callFrom=driver`). It carries requests and answers over Spark's RPC,
 * and knows what protects them there. It sees requests as bytes, and knows neither keys nor a KMS: those are in
 * `io.pmeparquet.keys`. Start with `DriverRoute`, which runs on an executor; `KeyRpc` is the driver's end.
 */
package io.pmeparquet.spark.keys;
