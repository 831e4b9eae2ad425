package kms;

import io.pmeparquet.AesKey;
import io.pmeparquet.PmeException;
import io.pmeparquet.keys.KeyAudit;
import io.pmeparquet.keys.KeyPurpose;
import io.pmeparquet.keys.Kms;
import io.pmeparquet.keys.KmsSettings;
import io.pmeparquet.keys.SigningKey;
import io.pmeparquet.kms.KmsAccess;
import io.pmeparquet.kms.client.DriverOptionReader;
import io.pmeparquet.kms.client.ProcessSecrets;
import io.pmeparquet.kms.http.JsonHttp;
import io.pmeparquet.kms.vault.VaultKms;
import io.pmeparquet.kms.vault.VaultSettings;
import io.pmeparquet.options.Level;
import io.pmeparquet.options.OptionValues;
import io.pmeparquet.policy.Policy;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import scala.Option;

/** A KMS that the register of the connector opens from options, as Spark's driver has it do, and no Spark. */
public final class OpenedClient {
  private final Kms kms;
  private final PausingClock clock;

  // Read once: Hadoop looks for its files in each of Spark's jars.
  private static final Configuration DEFAULTS = new Configuration();

  private static Configuration configuration() {
    DEFAULTS.size();
    return new Configuration(DEFAULTS);
  }

  private OpenedClient(Kms kms, PausingClock clock) {
    this.kms = kms;
    this.clock = clock;
  }

  public static Outcome open(Map<String, String> options) {
    return Outcome.of(
        () -> {
          KmsSettings settings = KmsAccess.settings(reader(options));
          return new OpenedClient(KmsAccess.open(settings, configuration(), KeyAudit.off(KeyPurpose.Read$.MODULE$)), null);
        });
  }

  /** As {@link #open}, for a Vault, whose client does not wait between attempts: its clock goes on instead. */
  public static Outcome openWithoutPauses(Map<String, String> options) {
    return Outcome.of(
        () -> {
          PausingClock clock = new PausingClock();
          VaultSettings settings = (VaultSettings) KmsAccess.settings(reader(options));
          return new OpenedClient(new VaultKms(settings, clock), clock);
        });
  }

  public Outcome wrap(byte[] key, String masterKeyId, String where) {
    return Outcome.of(() -> kms.wrap(AesKey.of(key, where), masterKeyId, where));
  }

  public Outcome unwrap(String wrapped, String masterKeyId, String where) {
    return Outcome.of(() -> kms.unwrap(wrapped, masterKeyId, where).insecureBytes());
  }

  public Outcome signingKey(String id, String where) {
    return Outcome.of(() -> new OpenedKey(kms.signingKey(id, where)));
  }

  /** Py4J calls nothing of the classes behind these interfaces. */
  public static final class OpenedKey {
    private final SigningKey key;

    private OpenedKey(SigningKey key) {
      this.key = key;
    }

    public String algorithm() {
      return key.algorithm();
    }

    public byte[] publicKey() {
      return key.publicKey().getEncoded();
    }

    public Outcome sign(byte[] message, String where) {
      return Outcome.of(() -> key.sign(message, where));
    }
  }

  /** How long the client would have waited between attempts. */
  public long pausedMillis() {
    return clock.paused.get();
  }

  /** What a call returned or threw. PySpark takes every exception that Py4J raises for one of its own JVM's. */
  public static final class Outcome {
    private final Object value;
    private final Exception failure;

    private Outcome(Object value, Exception failure) {
      this.value = value;
      this.failure = failure;
    }

    static Outcome of(Callable<Object> call) {
      try {
        return new Outcome(call.call(), null);
      } catch (Exception failed) {
        return new Outcome(null, failed);
      }
    }

    public Object value() {
      return value;
    }

    public boolean isFailure() {
      return failure != null;
    }

    /** The name of the condition; null where the failure is none of the connector's. */
    public String condition() {
      return failure instanceof PmeException ? ((PmeException) failure).getCondition() : null;
    }

    public String message() {
      return failure.getMessage();
    }

    public String stackTrace() {
      StringWriter text = new StringWriter();
      failure.printStackTrace(new PrintWriter(text));
      return text.toString();
    }
  }

  private static final class PausingClock implements JsonHttp.Clock {
    private final AtomicLong paused = new AtomicLong();

    @Override
    public long millis() {
      return System.nanoTime() / 1_000_000 + paused.get();
    }

    @Override
    public void sleep(long millis) {
      paused.addAndGet(millis);
    }
  }

  /** Reads options as Spark's driver does; a secret of these tests is in a file. */
  // Java does not see which maps Scala's calls return.
  @SuppressWarnings("unchecked")
  private static DriverOptionReader reader(Map<String, String> options) {
    scala.collection.immutable.Map<String, String> given = scala.collection.immutable.Map$.MODULE$.empty();
    for (Map.Entry<String, String> option : options.entrySet()) {
      given = given.updated(option.getKey().toLowerCase(Locale.ROOT), option.getValue());
    }
    scala.collection.immutable.Map<Level, scala.collection.immutable.Map<String, String>> levels =
        scala.collection.immutable.Map$.MODULE$.empty();
    scala.collection.immutable.Set<Policy> policies = scala.collection.immutable.Set$.MODULE$.empty();
    Configuration conf = configuration();
    return new DriverOptionReader(
        new OptionValues(levels.updated(Level.Option$.MODULE$, given), policies.toSeq()),
        conf,
        new ProcessSecrets(conf, name -> Option.empty()),
        scala.collection.immutable.Set$.MODULE$.<String>empty());
  }
}
