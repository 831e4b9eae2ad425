import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** Counts what an object store would be asked for: files opened, directories listed, and files looked up. */
public class CountingFileSystem extends LocalFileSystem {
  private static final AtomicLong OPENED = new AtomicLong();
  private static final AtomicLong LISTED = new AtomicLong();
  private static final AtomicLong LOOKED_UP = new AtomicLong();

  /** Returns what was counted since the last call, separated by spaces. */
  public static String counted() {
    return OPENED.getAndSet(0) + " " + LISTED.getAndSet(0) + " " + LOOKED_UP.getAndSet(0);
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    OPENED.incrementAndGet();
    return super.open(path, bufferSize);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    LISTED.incrementAndGet();
    return super.listStatus(path);
  }

  @Override
  public RemoteIterator<LocatedFileStatus> listLocatedStatus(Path path) throws IOException {
    LISTED.incrementAndGet();
    return super.listLocatedStatus(path);
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    LOOKED_UP.incrementAndGet();
    return super.getFileStatus(path);
  }
}
