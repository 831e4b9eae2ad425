package io.pmeparquet.spark.decode;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.ZoneId;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.VersionParser;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Spark's vectorized decoders, fed with our row groups. What Spark's own way of opening a file would set is set here; the
 * members that are not public are found by {@link VectorizedLink}, which says so when one is not there. In Java, since
 * Scala does not see the superclass's protected fields in Spark's class files.
 *
 * <p>For one thread.
 */
public final class VectorizedPages extends VectorizedParquetRecordReader {
  private final RowGroupSource source;
  private final VectorizedLink link;
  private long delivered = 0;

  public VectorizedPages(
      ZoneId convertTz,
      String datetimeRebaseMode,
      String datetimeRebaseTz,
      String int96RebaseMode,
      String int96RebaseTz,
      boolean offHeap,
      int capacity,
      RowGroupSource source,
      VectorizedLink link) {
    super(convertTz, datetimeRebaseMode, datetimeRebaseTz, int96RebaseMode, int96RebaseTz, offHeap, capacity);
    this.source = source;
    this.link = link;
  }

  /**
   * @param requested the file's columns as Spark wants them, missing ones included
   * @param createdBy the writer, which tells whether its delta byte arrays are to be read in one go (PARQUET-246)
   */
  public void open(MessageType file, MessageType requested, StructType spark, String createdBy, Configuration conf)
      throws IOException {
    this.fileSchema = file;
    this.requestedSchema = requested;
    this.sparkRequestedSchema = spark;
    this.parquetColumn =
        new ParquetToSparkSchemaConverter(conf).convertParquetColumn(requested, Option.apply(spark));
    this.sparkSchema = (StructType) parquetColumn.sparkType();
    this.writerVersion = version(createdBy);
    this.totalRowCount = 0;
    link.setConfiguration(this, conf);
    link.setReader(
        this,
        Proxy.newProxyInstance(
            link.readerType().getClassLoader(),
            new Class<?>[] {link.readerType()},
            (proxy, method, arguments) -> {
              switch (method.getName()) {
                case "readNextRowGroup":
                  return source.pages();
                case "close":
                  source.close();
                  return null;
                default:
                  throw new IllegalStateException("internal error: Spark calls " + method.getName());
              }
            }));
    link.findMissingColumns(this);
  }

  /** A row group is looked for when the one before is used up, so that what was learnt from that can be made use of. */
  @Override
  public boolean nextBatch() throws IOException {
    if (delivered == totalRowCount) totalRowCount += source.advance();
    boolean more = super.nextBatch();
    if (more) delivered += resultBatch().numRows();
    return more;
  }

  private static VersionParser.ParsedVersion version(String createdBy) {
    try {
      return createdBy == null ? null : VersionParser.parse(createdBy);
    } catch (RuntimeException | VersionParser.VersionParseException unknown) {
      // Spark reads on without it, too: then such columns are read in one go.
      return null;
    }
  }
}
