/**
 * Keys for table encryption of Apache Iceberg, from the KMSs of this format. Start at {@link
 * io.pmeparquet.iceberg.PmeKeyManagementClient}.
 */
package io.pmeparquet.iceberg;
