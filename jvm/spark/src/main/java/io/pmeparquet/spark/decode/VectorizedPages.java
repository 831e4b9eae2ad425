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
 * Spark's vectorized decoders, fed with our row groups. This class sets what Spark sets when it opens a file itself.
 * {@link VectorizedLink} finds the members that are not public, and reports one that is missing. In Java, because Scala
 * does not see the superclass's protected fields in Spark's class files.
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
   * @param requested the file's columns as Spark requests them, including missing ones
   * @param createdBy the writer: Spark must read the delta byte arrays of some writers in one go (PARQUET-246)
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

  /** Asks for the next row group only when the previous one is used up, because the source learns from each. */
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
      // Spark also continues without a version, and then reads such columns in one go.
      return null;
    }
  }
}
