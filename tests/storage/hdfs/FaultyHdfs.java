package hdfs;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * A client of HDFS one of whose questions to the name node or reads from a data node fails, after a given number of
 * them: that one, or it and all after it. A read of several bytes is also cut off: half of it gets there.
 */
public final class FaultyHdfs extends DistributedFileSystem {
  private static final AtomicInteger left = new AtomicInteger();
  private static volatile boolean passes;

  /** Lets so many questions and reads succeed. */
  public static void fail(int after, boolean once) {
    passes = once;
    left.set(after);
  }

  /** How many more would succeed. */
  public static int left() {
    return left.get();
  }

  private static boolean fails() {
    int before = left.getAndUpdate(now -> passes || now > 0 ? now - 1 : now);
    return before == 0;
  }

  private static void ask() throws IOException {
    if (fails()) throw new IOException("the connection was closed");
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    ask();
    return super.getFileStatus(path);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    ask();
    return super.listStatus(path);
  }

  @Override
  public RemoteIterator<FileStatus> listStatusIterator(Path path) throws IOException {
    ask();
    return super.listStatusIterator(path);
  }

  @Override
  public RemoteIterator<LocatedFileStatus> listLocatedStatus(Path path) throws FileNotFoundException, IOException {
    ask();
    return super.listLocatedStatus(path);
  }

  @Override
  public FSDataInputStream open(Path path, int buffer) throws IOException {
    ask();
    return new FSDataInputStream(new Faulty(super.open(path, buffer)));
  }

  private static final class Faulty extends FSInputStream {
    private final FSDataInputStream in;

    Faulty(FSDataInputStream in) {
      this.in = in;
    }

    @Override
    public int read() throws IOException {
      ask();
      return in.read();
    }

    @Override
    public int read(byte[] bytes, int from, int length) throws IOException {
      if (fails()) {
        in.read(bytes, from, length / 2);
        throw new IOException("the connection was closed");
      }
      return in.read(bytes, from, length);
    }

    @Override
    public void seek(long position) throws IOException {
      in.seek(position);
    }

    @Override
    public long getPos() throws IOException {
      return in.getPos();
    }

    @Override
    public boolean seekToNewSource(long position) throws IOException {
      return in.seekToNewSource(position);
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }
}
