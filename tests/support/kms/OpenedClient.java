package kms;

import io.pmeparquet.AesKey;
import io.pmeparquet.PmeException;
import io.pmeparquet.Secret;
import io.pmeparquet.SecretReference;
import io.pmeparquet.keys.FileContent;
import io.pmeparquet.keys.Kms;
import io.pmeparquet.keys.KmsSettings;
import io.pmeparquet.keys.SigningKey;
import io.pmeparquet.kms.KmsAccess;
import io.pmeparquet.kms.client.ClientValues;
import io.pmeparquet.kms.client.ConfValues;
import io.pmeparquet.kms.client.DriverValues;
import io.pmeparquet.kms.http.JsonHttp;
import io.pmeparquet.kms.vault.VaultKms;
import io.pmeparquet.kms.vault.VaultSettings;
import io.pmeparquet.options.Level;
import io.pmeparquet.options.OptionSpec;
import io.pmeparquet.options.OptionValues;
import io.pmeparquet.options.PmeOptions;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

  private OpenedClient(Kms kms, PausingClock clock) {
    this.kms = kms;
    this.clock = clock;
  }

  public static Outcome open(Map<String, String> options) {
    return Outcome.of(
        () -> {
          KmsSettings settings = KmsAccess.settings(new Values(options));
          return new OpenedClient(KmsAccess.open(settings, new Configuration()), null);
        });
  }

  /** As {@link #open}, for a Vault, whose client does not wait between attempts: its clock goes on instead. */
  public static Outcome openWithoutPauses(Map<String, String> options) {
    return Outcome.of(
        () -> {
          PausingClock clock = new PausingClock();
          VaultSettings settings = (VaultSettings) KmsAccess.settings(new Values(options));
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

  /** What Spark's driver knows of options; of secrets, those in files. */
  private static final class Values implements DriverValues {
    /** Java cannot call a method whose name is {@code default}. */
    private static final ClientValues DEFAULTS = new ConfValues(new Configuration(false));

    private final OptionValues values;

    // Java does not see which maps Scala's calls return.
    @SuppressWarnings("unchecked")
    Values(Map<String, String> options) {
      scala.collection.immutable.Map<String, String> given = scala.collection.immutable.Map$.MODULE$.empty();
      for (Map.Entry<String, String> option : options.entrySet()) {
        given = given.updated(option.getKey().toLowerCase(Locale.ROOT), option.getValue());
      }
      scala.collection.immutable.Map<Level, scala.collection.immutable.Map<String, String>> levels =
          scala.collection.immutable.Map$.MODULE$.empty();
      values = new OptionValues(levels.updated(Level.Option$.MODULE$, given));
    }

    @Override
    public Option<String> text(OptionSpec option) {
      if (option.values().nonEmpty()) {
        return Option.apply(values.choice(option));
      }
      Option<String> given = values.text(option);
      return given.isDefined() ? given : DEFAULTS.text(option);
    }

    @Override
    public boolean isSet(OptionSpec option) {
      return values.find(option).isDefined();
    }

    @Override
    public Option<Secret> secret(OptionSpec option) {
      return text(option).map(text -> secret(option, text));
    }

    private static Secret secret(OptionSpec option, String text) {
      SecretReference reference = SecretReference.parse(option.name(), text);
      if (!reference.kind().equals("file")) {
        throw new IllegalArgumentException("a secret of these tests is in a file: " + reference);
      }
      return new Secret(new String(read(reference.name())).stripTrailing());
    }

    @Override
    public Option<FileContent> file(OptionSpec option) {
      return text(option).map(path -> content(path, "option " + option.name() + ": file " + path));
    }

    @Override
    public FileContent content(String path, String where) {
      return new FileContent(read(path));
    }

    private static byte[] read(String path) {
      try {
        return Files.readAllBytes(Path.of(path));
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
    }

    @Override
    public Secret accessToken() {
      return new Secret(DEFAULTS.text(PmeOptions.AccessToken()).get());
    }

    @Override
    public String identity() {
      return "the user of the tests";
    }

    @Override
    public scala.collection.immutable.Map<String, Option<String>> withheld() {
      return scala.collection.immutable.Map$.MODULE$.empty();
    }
  }
}
