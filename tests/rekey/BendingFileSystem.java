package rekey;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A local disk without checksums that bends one byte of each Parquet file on its way there: the one at system property
 * {@code bending.at}; none where it is negative.
 */
public final class BendingFileSystem extends RawLocalFileSystem {
  @Override
  public FSDataOutputStream create(
      Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block, Progressable p)
      throws IOException {
    return bent(path, super.create(path, permission, overwrite, buffer, replication, block, p));
  }

  @Override
  public FSDataOutputStream create(
      Path path, boolean overwrite, int buffer, short replication, long block, Progressable p) throws IOException {
    return bent(path, super.create(path, overwrite, buffer, replication, block, p));
  }

  private static FSDataOutputStream bent(Path path, FSDataOutputStream out) throws IOException {
    return path.getName().endsWith(".parquet") && !(out.getWrappedStream() instanceof Bending)
        ? new FSDataOutputStream(new Bending(out, Integer.getInteger("bending.at")), null)
        : out;
  }

  private static final class Bending extends OutputStream {
    private final OutputStream out;
    private final int at;
    private int written = 0;

    Bending(OutputStream out, int at) {
      this.out = out;
      this.at = at;
    }

    @Override
    public void write(int value) throws IOException {
      out.write(written++ == at ? value ^ 1 : value);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      for (int i = from; i < from + length; i++) write(bytes[i]);
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }
}
