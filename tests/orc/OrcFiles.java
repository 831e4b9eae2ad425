// Writes small ORC files with ORC's own library, and says what its reader finds in files without a key.
//   java -cp "<Spark's jars>/*" OrcFiles.java write <directory>
//   java -cp "<Spark's jars>/*" OrcFiles.java facts <file>...

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DecimalColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.orc.ColumnStatistics;
import org.apache.orc.CompressionKind;
import org.apache.orc.DataMaskDescription;
import org.apache.orc.EncryptionAlgorithm;
import org.apache.orc.EncryptionKey;
import org.apache.orc.EncryptionVariant;
import org.apache.orc.InMemoryKeystore;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;
import org.apache.orc.impl.HadoopShims;
import org.apache.orc.impl.KeyProvider;
import org.apache.orc.impl.LocalKey;

public class OrcFiles {
  private static final String SCHEMA =
      "struct<id:bigint,card:string,note:string,blob:binary,born:date,at:timestamp,pin:int,amount:decimal(10,2),"
          + "ratio:double,tags:array<string>,person:struct<ssn:varchar(11),zip:char(5)>,m:map<string,int>>";
  private static final String SMALL = "struct<id:bigint,card:string,note:string,pin:int>";
  private static final String KEYS = "pii:card,note,blob,born,at,person.ssn,tags;pay:pin,amount,ratio,m";
  private static final String MASKS = "redact:born,pin,ratio;redact,`Xx9`,`_ _ 1 _`:at;sha256:note,blob,person.ssn,tags";
  private static final int ROWS = 6;
  private static final Configuration CONF = new Configuration();

  public static void main(String[] arguments) throws Exception {
    write(arguments[0]);
    String[] names = new File(arguments[0]).list((directory, name) -> name.endsWith(".orc"));
    Arrays.sort(names);
    for (String name : names) {
      System.out.println(facts(arguments[0] + "/" + name));
    }
  }

  private static InMemoryKeystore keystore() throws IOException {
    byte[] material = "0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.UTF_8);
    return new InMemoryKeystore(new Random(1))
        .addKey("pii", 0, EncryptionAlgorithm.AES_CTR_128, material)
        .addKey("pii", 2, EncryptionAlgorithm.AES_CTR_128, material)
        .addKey("pay", 0, EncryptionAlgorithm.AES_CTR_128, material)
        .addKey("long", 3, EncryptionAlgorithm.AES_CTR_256, material);
  }

  private static void write(String directory) throws Exception {
    file(directory + "/masks.orc", KEYS, MASKS, options(keystore()));
    // Brotli needs a library that Spark does not have.
    for (String kind : List.of("none", "snappy", "lz4", "lzo", "zstd")) {
      CompressionKind compression = CompressionKind.valueOf(kind.toUpperCase());
      file(directory + "/" + kind + ".orc", "pii:card", null, options(keystore()).compress(compression));
    }
    file(directory + "/aes256.orc", "long:card", null, options(keystore()));
    file(directory + "/bloom.orc", "pii:card;pay:pin", "redact,__0:pin", options(keystore()).bloomFilterColumns("id,card"));
    file(directory + "/plain.orc", null, null, options(null).bloomFilterColumns("id"));
    file(directory + "/ours.orc", "pii:card,note", null, options(new KeyMaterial()));
    TypeDescription schema = TypeDescription.fromString(SMALL);
    OrcFile.createWriter(new Path(directory + "/norows.orc"), options(keystore()).setSchema(schema).encrypt("pii:card"))
        .close();
  }

  private static OrcFile.WriterOptions options(KeyProvider provider) {
    return OrcFile.writerOptions(CONF).overwrite(true).setKeyProvider(provider).compress(CompressionKind.ZLIB);
  }

  /** Two stripes of the same rows. With one key only the simple columns, so that the file is small. */
  private static void file(String path, String keys, String masks, OrcFile.WriterOptions options) throws Exception {
    TypeDescription schema = TypeDescription.fromString(KEYS.equals(keys) ? SCHEMA : SMALL);
    options.setSchema(schema);
    if (keys != null) {
      options.encrypt(keys);
    }
    if (masks != null) {
      options.masks(masks);
    }
    try (Writer writer = OrcFile.createWriter(new Path(path), options)) {
      VectorizedRowBatch batch = schema.createRowBatch();
      for (int stripe = 0; stripe < 2; stripe++) {
        fill(batch);
        writer.addRowBatch(batch);
        writer.writeIntermediateFooter();
        batch.reset();
      }
      writer.addUserMetadata("made.by", java.nio.ByteBuffer.wrap(new byte[] {1}));
    }
  }

  private static void fill(VectorizedRowBatch batch) {
    batch.size = ROWS;
    boolean small = batch.cols.length == 4;
    for (int row = 0; row < ROWS; row++) {
      ((LongColumnVector) batch.cols[0]).vector[row] = row;
      text(batch.cols[1], row, "4000 1234 5678 900" + row % 3);
      text(batch.cols[2], row, "note " + row % 2);
      ((LongColumnVector) batch.cols[small ? 3 : 6]).vector[row] = row * 1111;
      if (!small) {
        fill(batch, row);
      }
    }
    batch.cols[1].noNulls = false;
    batch.cols[1].isNull[ROWS - 1] = true;
  }

  private static void fill(VectorizedRowBatch batch, int row) {
    text(batch.cols[3], row, "blob " + row);
    ((LongColumnVector) batch.cols[4]).vector[row] = 7000 + 400L * row;
    ((TimestampColumnVector) batch.cols[5]).set(row, new java.sql.Timestamp(1_500_000_000_000L + row * 86_400_000L));
    ((DecimalColumnVector) batch.cols[7]).set(row, org.apache.hadoop.hive.common.type.HiveDecimal.create("12.3" + row));
    ((DoubleColumnVector) batch.cols[8]).vector[row] = row / 4.0;
    ListColumnVector list = (ListColumnVector) batch.cols[9];
    list.offsets[row] = list.childCount;
    list.lengths[row] = row % 3;
    list.childCount += row % 3;
    for (int i = 0; i < row % 3; i++) {
      text(list.child, (int) list.offsets[row] + i, "tag" + i);
    }
    StructColumnVector person = (StructColumnVector) batch.cols[10];
    text(person.fields[0], row, "078-05-112" + row);
    text(person.fields[1], row, "1000" + row);
    MapColumnVector map = (MapColumnVector) batch.cols[11];
    map.offsets[row] = map.childCount;
    map.lengths[row] = 1;
    map.childCount += 1;
    text(map.keys, row, "k" + row);
    ((LongColumnVector) map.values).vector[row] = row;
  }

  private static void text(Object vector, int row, String value) {
    ((BytesColumnVector) vector).setVal(row, value.getBytes(StandardCharsets.UTF_8));
  }

  /** As our own provider writes files: the encrypted local key is key material. */
  private static final class KeyMaterial implements KeyProvider {
    @Override
    public List<String> getKeyNames() {
      return List.of("pii");
    }

    @Override
    public HadoopShims.KeyMetadata getCurrentKeyVersion(String name) {
      return new HadoopShims.KeyMetadata(name, 0, EncryptionAlgorithm.AES_CTR_128);
    }

    @Override
    public LocalKey createLocalKey(HadoopShims.KeyMetadata key) {
      String material =
          "{\"keyMaterialType\":\"PKMT1\",\"internalStorage\":true,\"isFooterKey\":false,\"kmsInstanceID\":\"vault\","
              + "\"kmsInstanceURL\":\"https://vault.example\",\"masterKeyID\":\"pii\",\"doubleWrapping\":true,"
              + "\"keyEncryptionKeyID\":\"AAECAwQFBgcICQoLDA0ODw==\",\"wrappedKEK\":\"vault:v4:AAAA\","
              + "\"wrappedDEK\":\"" + java.util.Base64.getEncoder().encodeToString(new byte[44]) + "\"}";
      return new LocalKey(key.getAlgorithm(), new byte[16], material.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public java.security.Key decryptLocalKey(HadoopShims.KeyMetadata key, byte[] encrypted) {
      return null;
    }

    @Override
    public HadoopShims.KeyProviderKind getKind() {
      return HadoopShims.KeyProviderKind.UNKNOWN;
    }
  }

  private static String facts(String path) throws IOException {
    // An empty keystore refuses every key, so the reader shows what everybody can see.
    try (Reader reader =
        OrcFile.createReader(
            new Path(path), OrcFile.readerOptions(CONF).setKeyProvider(new InMemoryKeystore(new Random(1))))) {
      List<String> keys = new ArrayList<>();
      for (EncryptionKey key : reader.getColumnEncryptionKeys()) {
        keys.add(quoted(key.getKeyName() + "@" + key.getKeyVersion() + " " + key.getAlgorithm()));
      }
      List<String> variants = new ArrayList<>();
      for (EncryptionVariant variant : reader.getEncryptionVariants()) {
        variants.add("[" + variant.getRoot().getId() + "," + variant.getRoot().getMaximumId() + ","
            + quoted(variant.getKeyDescription().getKeyName()) + "]");
      }
      List<String> masks = new ArrayList<>();
      for (DataMaskDescription mask : reader.getDataMasks()) {
        masks.add(quoted(String.join(", ", mask.getName(), String.join(", ", mask.getParameters()))));
      }
      List<String> statistics = new ArrayList<>();
      for (ColumnStatistics one : reader.getStatistics()) {
        statistics.add(quoted(one.toString()));
      }
      List<String> names = new ArrayList<>();
      List<String> types = new ArrayList<>();
      for (int id = 0; id <= reader.getSchema().getMaximumId(); id++) {
        TypeDescription type = reader.getSchema().findSubtype(id);
        names.add(quoted(id == 0 ? "" : type.getFullFieldName()));
        types.add(quoted(type.toString()));
      }
      return "{\"rows\":" + reader.getNumberOfRows() + ",\"stripes\":" + reader.getStripes().size() + ",\"compression\":"
          + quoted(reader.getCompressionKind().name()) + ",\"software\":" + quoted(reader.getSoftwareVersion())
          + ",\"names\":" + names + ",\"types\":" + types + ",\"keys\":" + keys + ",\"variants\":" + variants
          + ",\"masks\":" + masks + ",\"statistics\":" + statistics + "}";
    }
  }

  private static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }
}
