/**
 * HTTP as KMSs speak it: `JsonHttp` calls, retries and gives up in time; `Messages` has requests and answers;
 * `ServerAddress` and `UrlPath` say where a token may go, `Authorities` whose certificates count. Knows no KMS by
 * name. Start with `JsonHttp.call`.
 */
package io.pmeparquet.kms.http;
