package io.pmeparquet.spark.rules;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Tables {@code (id BIGINT, ssn STRING)} in the driver's memory that take UPDATE, DELETE and MERGE: row by row where a
 * table's name begins with "rows", and by writing all rows again elsewhere. A table exists once it is named.
 */
public final class RowLevelCatalog implements TableCatalog {
  private static final StructType SCHEMA =
      new StructType().add("id", DataTypes.LongType, false).add("ssn", DataTypes.StringType);

  private final Map<String, MemoryTable> tables = new ConcurrentHashMap<>();
  private String name;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Table loadTable(Identifier identifier) {
    return tables.computeIfAbsent(identifier.name(), MemoryTable::new);
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean dropTable(Identifier table) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException();
  }

  private static final class MemoryTable implements SupportsRead, SupportsWrite, SupportsRowLevelOperations {
    private final TreeMap<Long, String> rows = new TreeMap<>();
    private final String name;

    MemoryTable(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new MemoryScan(new TreeMap<>(rows));
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return writing(false);
    }

    @Override
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
      return () -> name.startsWith("rows") ? new OfRows(this, info.command()) : new OfAll(this, info.command());
    }

    DeltaWriteBuilder writing(boolean anew) {
      return new DeltaWriteBuilder() {
        @Override
        public DeltaWrite build() {
          return new MemoryWrite(rows, anew);
        }
      };
    }
  }

  private static class OfAll implements RowLevelOperation {
    final MemoryTable table;
    private final Command command;

    OfAll(MemoryTable table, Command command) {
      this.table = table;
      this.command = command;
    }

    @Override
    public Command command() {
      return command;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return table.newScanBuilder(options);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return table.writing(true);
    }
  }

  private static final class OfRows extends OfAll implements SupportsDelta {
    OfRows(MemoryTable table, Command command) {
      super(table, command);
    }

    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return table.writing(false);
    }

    @Override
    public NamedReference[] rowId() {
      return new NamedReference[] {Expressions.column("id")};
    }
  }

  private static final class Rows implements InputPartition {
    private final TreeMap<Long, String> rows;

    Rows(TreeMap<Long, String> rows) {
      this.rows = rows;
    }
  }

  private static final class MemoryScan implements Scan, Batch {
    private final TreeMap<Long, String> rows;

    MemoryScan(TreeMap<Long, String> rows) {
      this.rows = rows;
    }

    @Override
    public StructType readSchema() {
      return SCHEMA;
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      return new InputPartition[] {new Rows(rows)};
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return partition -> new MemoryReader(((Rows) partition).rows);
    }
  }

  private static final class MemoryReader implements PartitionReader<InternalRow> {
    private final TreeMap<Long, String> left;
    private InternalRow row;

    MemoryReader(TreeMap<Long, String> rows) {
      left = new TreeMap<>(rows);
    }

    @Override
    public boolean next() {
      var first = left.pollFirstEntry();
      if (first == null) return false;
      row = new GenericInternalRow(new Object[] {first.getKey(), UTF8String.fromString(first.getValue())});
      return true;
    }

    @Override
    public InternalRow get() {
      return row;
    }

    @Override
    public void close() {}
  }

  /** What becomes of one row; without an ssn of its own it may have none, or be taken away. */
  private static final class Change implements Serializable {
    private final long id;
    private final String ssn;
    private final boolean removed;

    Change(long id, String ssn, boolean removed) {
      this.id = id;
      this.ssn = ssn;
      this.removed = removed;
    }
  }

  private static final class Changes implements WriterCommitMessage {
    private final ArrayList<Change> changes;

    Changes(ArrayList<Change> changes) {
      this.changes = changes;
    }
  }

  private static final class MemoryWrite implements DeltaWrite, DeltaBatchWrite {
    private final TreeMap<Long, String> rows;
    private final boolean anew;

    MemoryWrite(TreeMap<Long, String> rows, boolean anew) {
      this.rows = rows;
      this.anew = anew;
    }

    @Override
    public DeltaBatchWrite toBatch() {
      return this;
    }

    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new Writers();
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      if (anew) rows.clear();
      for (var message : messages) {
        for (var change : ((Changes) message).changes) {
          if (change.removed) rows.remove(change.id);
          else rows.put(change.id, change.ssn);
        }
      }
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {}
  }

  private static final class Writers implements DeltaWriterFactory {
    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
      return new MemoryWriter();
    }
  }

  private static final class MemoryWriter implements DeltaWriter<InternalRow> {
    private final List<Change> changes = new ArrayList<>();

    @Override
    public void insert(InternalRow row) {
      // Spark 4.1 leaves a number of its own in front of the columns of a table that is replaced.
      var ssn = row.numFields() - 1;
      changes.add(new Change(row.getLong(ssn - 1), row.isNullAt(ssn) ? null : row.getUTF8String(ssn).toString(), false));
    }

    @Override
    public void update(InternalRow metadata, InternalRow id, InternalRow row) {
      insert(row);
    }

    @Override
    public void delete(InternalRow metadata, InternalRow id) {
      changes.add(new Change(id.getLong(0), null, true));
    }

    @Override
    public WriterCommitMessage commit() {
      return new Changes(new ArrayList<>(changes));
    }

    @Override
    public void abort() {}

    @Override
    public void close() {}
  }
}
