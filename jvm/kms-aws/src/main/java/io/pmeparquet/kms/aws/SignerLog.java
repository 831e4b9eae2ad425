package io.pmeparquet.kms.aws;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.config.Configurator;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4HttpSigner;

import io.pmeparquet.kms.client.KmsFailure;

/**
 * What the AWS SDK logs of requests that it signs: at DEBUG all their headers, and so the session token of a role. It is
 * kept from that, whatever else a session logs.
 */
final class SignerLog {
  /** The package above the signer's, by the name that it has in this jar. */
  private static final String PACKAGE = AwsV4HttpSigner.class.getPackageName().replaceFirst("\\.signer$", "");

  private static final String SIGNER = PACKAGE + ".internal.signer.DefaultV4RequestSigner";

  private SignerLog() {}

  /** Before each call, since Log4j may reload its settings at any time. */
  static void keepSecrets() {
    if (isOpen()) {
      Configurator.setAllLevels(PACKAGE, Level.INFO);
      if (isOpen()) {
        throw KmsFailure.unavailable("the AWS SDK would log the session token, and Log4j cannot stop it", null);
      }
    }
  }

  private static boolean isOpen() {
    return LogManager.getLogger(SIGNER).isDebugEnabled();
  }
}
