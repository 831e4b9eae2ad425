package hdfs;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.util.Progressable;

/**
 * A client of HDFS that makes so many changes (system property {@code stopping.after}) and no more. What is in HDFS then
 * is what a killed process leaves: files in the middle of being written stay open, and the client keeps their leases.
 * With {@code stopping.passes} only one change fails.
 */
public final class StoppingHdfs extends DistributedFileSystem {
  private static final String AFTER = "stopping.after";

  private static synchronized boolean isStopped() {
    int left = Integer.getInteger(AFTER);
    if (left > 0) System.setProperty(AFTER, Integer.toString(left - 1));
    return left <= 0;
  }

  private void change() throws IOException {
    if (isStopped()) {
      if (Boolean.getBoolean("stopping.passes")) {
        System.setProperty(AFTER, Integer.toString(Integer.MAX_VALUE));
        throw new IOException("the connection was closed");
      }
      if (Boolean.getBoolean("stopping.halts")) Runtime.getRuntime().halt(137);
      getClient().closeAllFilesBeingWritten(/* abort= */ true);
      throw new IOException("this file system has stopped");
    }
  }

  @Override
  public FSDataOutputStream create(
      Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block, Progressable p)
      throws IOException {
    change();
    return new Stopping(super.create(path, permission, overwrite, buffer, replication, block, p));
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    change();
    return super.delete(path, recursive);
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    change();
    return super.rename(from, to);
  }

  @Override
  public void rename(Path from, Path to, Rename... options) throws IOException {
    change();
    super.rename(from, to, options);
  }

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    change();
    super.setPermission(path, permission);
  }

  private final class Stopping extends FSDataOutputStream {
    private final FSDataOutputStream out;

    Stopping(FSDataOutputStream out) throws IOException {
      super(new Halves(out), null);
      this.out = out;
    }

    @Override
    public void hsync() throws IOException {
      out.hsync();
    }

    @Override
    public void hflush() throws IOException {
      out.hflush();
    }
  }

  private final class Halves extends OutputStream {
    private final FSDataOutputStream out;

    Halves(FSDataOutputStream out) {
      this.out = out;
    }

    @Override
    public void write(int value) throws IOException {
      write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      // Half of it gets there.
      out.write(bytes, from, length / 2);
      if (Integer.getInteger(AFTER) <= 0) out.hflush();
      change();
      out.write(bytes, from + length / 2, length - length / 2);
    }

    @Override
    public void close() throws IOException {
      change();
      out.close();
    }
  }

  /** The same for Hadoop's other interface to file systems, by which files are replaced. */
  public static final class Context extends DelegateToFileSystem {
    public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(uri, new StoppingHdfs(), conf, "hdfs", true);
    }

    @Override
    public void renameInternal(Path from, Path to, boolean overwrite) throws IOException {
      // Otherwise Hadoop deletes first, and renames then.
      ((StoppingHdfs) fsImpl).rename(from, to, overwrite ? Rename.OVERWRITE : Rename.NONE);
    }

    @Override
    public int getUriDefaultPort() {
      return 8020;
    }
  }
}
