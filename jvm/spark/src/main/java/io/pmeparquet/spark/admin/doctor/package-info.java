/**
 * The checks of `pme.doctor`: jars, versions, settings, executors, AES and the KMS. Each knows how to examine one of
 * these; `io.pmeparquet.spark.admin.Doctor` combines them. Start with `Check`, the result of one check. Add a check
 * to the others, such as `InstallationChecks` and `SettingChecks`.
 */
package io.pmeparquet.spark.admin.doctor;
