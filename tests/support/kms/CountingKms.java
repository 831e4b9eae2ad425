package kms;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.KeyAccessDeniedException;
import org.apache.parquet.crypto.keytools.KeyToolkit;
import org.apache.parquet.crypto.keytools.KmsClient;
import org.apache.spark.SparkEnv;

/**
 * A KMS client that writes down each call, failed or not, as a line of a file: what, master key, process, thread,
 * executor, and when it began, by a clock of that process. It has the master keys of the testkit's TestKms. With a file of
 * versions, "2 1" for the newest and the oldest, it wraps with the newest, and refuses those before the oldest. Its
 * settings are in the Hadoop configuration.
 */
public final class CountingKms implements KmsClient {
  private static final Object WRITING = new Object();

  private Path log;
  private long pauseMillis;
  private Set<String> denied;
  private String down;
  private boolean timesOut;
  private Path versions;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    log = Paths.get(conf.get("counting.kms.log"));
    pauseMillis = conf.getLong("counting.kms.pause.millis", 0);
    denied = new HashSet<>(Arrays.asList(conf.getTrimmedStrings("counting.kms.deny")));
    down = conf.get("counting.kms.down");
    timesOut = conf.getBoolean("counting.kms.times.out", false);
    versions = conf.get("counting.kms.versions") == null ? null : Paths.get(conf.get("counting.kms.versions"));
  }

  @Override
  public String wrapKey(byte[] key, String masterKeyId) {
    called("wrap", masterKeyId);
    String wrapped = KeyToolkit.encryptKeyLocally(key, master(masterKeyId), bytes(masterKeyId));
    return versions == null ? wrapped : version(0) + " " + wrapped;
  }

  @Override
  public byte[] unwrapKey(String wrapped, String masterKeyId) {
    called("unwrap", masterKeyId);
    String text = wrapped.substring(wrapped.indexOf(' ') + 1);
    if (versions != null && Integer.parseInt(wrapped.substring(0, wrapped.indexOf(' '))) < version(1)) {
      throw new KeyAccessDeniedException("this version of " + masterKeyId + " is retired");
    }
    return KeyToolkit.decryptKeyLocally(text, master(masterKeyId), bytes(masterKeyId));
  }

  /** The newest version (0) or the oldest that still opens keys (1). */
  private int version(int at) {
    try {
      return Integer.parseInt(Files.readString(versions).trim().split(" ")[at]);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private void called(String what, String masterKeyId) {
    SparkEnv spark = SparkEnv.get();
    String thread = Thread.currentThread().getName().replaceAll("\\s+", "_");
    String executor = spark == null ? "none" : spark.executorId();
    String process = Long.toString(ProcessHandle.current().pid());
    String millis = Long.toString(System.nanoTime() / 1_000_000);
    write(String.join(" ", what, masterKeyId, process, thread, executor, millis) + "\n");
    try {
      Thread.sleep(pauseMillis);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(stopped);
    }
    if (down != null && Files.exists(Paths.get(down))) throw new UncheckedIOException(failure());
    if (denied.contains(masterKeyId)) throw new KeyAccessDeniedException("this user may not use " + masterKeyId);
  }

  private IOException failure() {
    return timesOut ? new SocketTimeoutException("Read timed out") : new ConnectException("refused");
  }

  /** One line is one write, so that those of several processes do not mix. */
  private void write(String line) {
    synchronized (WRITING) {
      try {
        Files.write(log, bytes(line), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
    }
  }

  private static byte[] master(String id) {
    try {
      return Arrays.copyOf(MessageDigest.getInstance("SHA-256").digest(bytes("pme-testkit:" + id)), 16);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
