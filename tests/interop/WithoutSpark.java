import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** Writes a file with parquet-java and our crypto factory, and reads it. Arguments: the file, and one of keys. */
public final class WithoutSpark {
  private WithoutSpark() {}

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set("parquet.crypto.factory.class", "io.pmeparquet.parquet.PmeCryptoFactory");
    conf.set("pme-parquet.kms", "static");
    conf.set("pme-parquet.kms.static.keys", "file:" + arguments[1]);
    conf.set("pme-parquet.footerKey", "footer");
    MessageType schema = MessageTypeParser.parseMessageType("message m { required int64 id; }");
    Path file = new Path(arguments[0]);
    try (ParquetWriter<Group> writer = ExampleParquetWriter.builder(file).withConf(conf).withType(schema).build()) {
      writer.write(new SimpleGroupFactory(schema).newGroup().append("id", 7L));
    }
    try (ParquetReader<Group> reader = ParquetReader.builder(new GroupReadSupport(), file).withConf(conf).build()) {
      System.out.println(reader.read().getLong("id", 0));
    }
  }
}
