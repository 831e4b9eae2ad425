import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * What AES-GCM alone can do in a JVM: modules of one size decrypted in memory, by so many threads for so many seconds. Prints
 * bytes per second.
 *
 *   java AesThroughput.java THREADS MODULE_BYTES SECONDS
 */
public final class AesThroughput {
  private static final int WARM_UP = 20_000;

  public static void main(String[] arguments) throws Exception {
    int threads = Integer.parseInt(arguments[0]);
    int size = Integer.parseInt(arguments[1]);
    long nanos = Long.parseLong(arguments[2]) * 1_000_000_000L;
    run(threads, size, WARM_UP, Long.MAX_VALUE);
    System.out.println((long) run(threads, size, Long.MAX_VALUE, nanos));
  }

  private static double run(int threads, int size, long most, long nanos) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Callable<Double>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) all.add(() -> one(size, most, nanos));
      double sum = 0;
      for (Future<Double> each : pool.invokeAll(all)) sum += each.get();
      return sum;
    } finally {
      pool.shutdown();
    }
  }

  private static double one(int size, long most, long nanos) throws Exception {
    SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
    GCMParameterSpec nonce = new GCMParameterSpec(128, new byte[12]);
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(Cipher.ENCRYPT_MODE, key, nonce);
    byte[] module = cipher.doFinal(new byte[size]);
    byte[] plain = new byte[size];
    long start = System.nanoTime();
    long done = 0;
    for (long i = 0; i < most && System.nanoTime() - start < nanos; i++) {
      cipher.init(Cipher.DECRYPT_MODE, key, nonce);
      cipher.doFinal(module, 0, module.length, plain, 0);
      done += size;
    }
    return done * 1e9 / (System.nanoTime() - start);
  }
}
