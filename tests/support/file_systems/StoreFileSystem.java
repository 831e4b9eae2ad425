package rotation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Abortable;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A store of objects as S3 is one, on the local disk: what is written appears when it is closed, and not at all when it
 * is aborted. With the system property {@code store.fails} the second write fails.
 */
public final class StoreFileSystem extends RawLocalFileSystem {
  private URI uri;

  @Override
  public void initialize(URI given, Configuration conf) throws IOException {
    uri = URI.create(given.getScheme() + ":///");
    super.initialize(uri, conf);
  }

  @Override
  public URI getUri() {
    return uri == null ? super.getUri() : uri;
  }

  @Override
  protected void checkPath(Path path) {}

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    throw new IOException("stores do not rename");
  }

  @Override
  public FSDataOutputStream create(
      Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block, Progressable p)
      throws IOException {
    return create(path, overwrite, buffer, replication, block, p);
  }

  @Override
  public FSDataOutputStream create(
      Path path, boolean overwrite, int buffer, short replication, long block, Progressable p) throws IOException {
    return new FSDataOutputStream(new Upload(path), null);
  }

  private final class Upload extends ByteArrayOutputStream implements Abortable {
    private final Path path;
    private boolean open = true;
    private int writes = 0;

    Upload(Path path) {
      this.path = path;
    }

    @Override
    public void write(byte[] bytes, int from, int length) {
      writes++;
      if (writes > 1 && Boolean.getBoolean("store.fails")) throw new IllegalStateException("the upload broke");
      super.write(bytes, from, length);
    }

    @Override
    public void close() throws IOException {
      if (!open) return;
      open = false;
      try (FSDataOutputStream out = StoreFileSystem.super.create(path, true, 4096, (short) 1, 1L << 20, null)) {
        out.write(toByteArray());
      }
    }

    @Override
    public AbortableResult abort() {
      open = false;
      return null;
    }
  }
}
