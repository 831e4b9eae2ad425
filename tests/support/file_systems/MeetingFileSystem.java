package rotation;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Hadoop's local file system, where two who miss a file of one name (system property {@code meeting.at}) go on together:
 * each of them has found that it is not there.
 */
public final class MeetingFileSystem extends LocalFileSystem {
  private static final CyclicBarrier MEETING = new CyclicBarrier(2);
  private static final AtomicInteger TO_COME = new AtomicInteger();

  /** Lets two meet so many times. */
  public static void expectTwo(int times) {
    MEETING.reset();
    TO_COME.set(2 * times);
  }

  /** Whether they have met as often. */
  public static boolean haveMet() {
    return TO_COME.get() <= 0 && MEETING.getNumberWaiting() == 0;
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    try {
      return super.getFileStatus(path);
    } catch (FileNotFoundException missing) {
      if (path.getName().equals(System.getProperty("meeting.at")) && TO_COME.getAndDecrement() > 0) meet();
      throw missing;
    }
  }

  private static void meet() throws IOException {
    try {
      MEETING.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException | BrokenBarrierException | TimeoutException alone) {
      throw new IOException("nobody else came", alone);
    }
  }
}
