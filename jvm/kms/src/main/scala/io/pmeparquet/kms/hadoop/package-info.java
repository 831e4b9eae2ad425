/**
 * `kms=hadoop`: Hadoop KMS, by Hadoop's own client. `HadoopKmsCalls` decides where it may go and limits the time
 * of a call, `HadoopWrapped` is the form of a wrapped key. All of it is here but `kms.HadoopKmsClient`, the public name
 * and the place to start.
 */
package io.pmeparquet.kms.hadoop;
