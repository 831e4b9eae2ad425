package rotation;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Hadoop's local file system, which after so many changes (system property {@code stopping.after}) makes no more: what
 * lies on the disk then is what a process leaves that is killed there. With {@code stopping.halts} it is killed.
 */
public final class StoppingFileSystem extends LocalFileSystem {
  private static final String AFTER = "stopping.after";

  public StoppingFileSystem() {
    super(new Raw());
  }

  private static synchronized void change() throws IOException {
    int left = Integer.getInteger(AFTER);
    if (left <= 0 && Boolean.getBoolean("stopping.halts")) Runtime.getRuntime().halt(137);
    if (left <= 0) throw new IOException("this file system has stopped");
    System.setProperty(AFTER, Integer.toString(left - 1));
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public FSDataOutputStream create(
        Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block, Progressable p)
        throws IOException {
      change();
      return new FSDataOutputStream(
          new Stopping(super.create(path, permission, overwrite, 1, replication, block, p)), null);
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
    public void setPermission(Path path, FsPermission permission) throws IOException {
      change();
      super.setPermission(path, permission);
    }
  }

  private static final class Stopping extends OutputStream {
    private final OutputStream out;

    Stopping(OutputStream out) {
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
      out.flush();
      change();
      out.write(bytes, from + length / 2, length - length / 2);
    }

    @Override
    public void close() throws IOException {
      out.close();
      change();
    }
  }
}
