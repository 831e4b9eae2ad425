import java.io.IOException;
import java.net.URI;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** The local file system as {@code counted:///}, which counts the bytes that readers get. */
public class CountedReads extends RawLocalFileSystem {
  private static final AtomicLong READ = new AtomicLong();

  /** Returns what was read since the last call. */
  public static long read() {
    return READ.getAndSet(0);
  }

  @Override
  public URI getUri() {
    return URI.create("counted:///");
  }

  @Override
  public String getScheme() {
    return "counted";
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return new FSDataInputStream(new Counted(super.open(path, bufferSize)));
  }

  private static final class Counted extends FSInputStream {
    private final FSDataInputStream inner;

    Counted(FSDataInputStream inner) {
      this.inner = inner;
    }

    @Override
    public int read() throws IOException {
      int found = inner.read();
      READ.addAndGet(found < 0 ? 0 : 1);
      return found;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      int found = inner.read(into, from, length);
      READ.addAndGet(Math.max(found, 0));
      return found;
    }

    @Override
    public void seek(long position) throws IOException {
      inner.seek(position);
    }

    @Override
    public long getPos() throws IOException {
      return inner.getPos();
    }

    @Override
    public boolean seekToNewSource(long position) throws IOException {
      return inner.seekToNewSource(position);
    }

    @Override
    public void close() throws IOException {
      inner.close();
    }
  }
}
