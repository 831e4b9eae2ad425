/**
 * HTTP as KMSs speak it: `JsonHttp` calls, retries and gives up in time; `ServerAddress` says where a token may go. Knows
 * no KMS by name. Start with `JsonHttp.call`.
 */
package io.pmeparquet.kms.http;
