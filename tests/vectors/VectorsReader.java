import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.crypto.ColumnDecryptionProperties;
import org.apache.parquet.crypto.FileDecryptionProperties;
import org.apache.parquet.crypto.ParquetCryptoRuntimeException;
import org.apache.parquet.crypto.keytools.KeyToolkit;
import org.apache.parquet.crypto.keytools.KmsClient;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;

/** Reads each case of the folder with parquet-java; prints a line of JSON for each: its rows, or why there are none. */
public final class VectorsReader {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String KEYS = "vectors.keys";

  private VectorsReader() {}

  public static void main(String[] arguments) throws Exception {
    File folder = new File(arguments[0]);
    for (JsonNode one : JSON.readTree(new File(folder, "vectors.json")).get("cases")) {
      ObjectNode answer = JSON.createObjectNode().put("id", one.get("id").asText());
      ParquetReader.Builder<Group> builder = builder(one, new File(folder, one.get("file").asText()));
      List<Group> read = new ArrayList<>();
      String refusal = null;
      // Only what parquet-java does is a refusal. A fault of this class ends the run.
      try (ParquetReader<Group> reader = builder.build()) {
        for (Group row = reader.read(); row != null; row = reader.read()) read.add(row);
      } catch (Exception | OutOfMemoryError failed) {
        refusal = failed.toString();
      }
      if (refusal != null) answer.put("rows", refusal);
      else {
        ArrayNode rows = answer.putArray("rows");
        read.forEach(row -> rows.add(struct(row)));
      }
      System.out.println(JSON.writeValueAsString(answer));
    }
  }

  private static ParquetReader.Builder<Group> builder(JsonNode one, File file) {
    Configuration conf = new Configuration(false);
    ParquetReader.Builder<Group> builder = ParquetReader.builder(new GroupReadSupport(), new Path(file.toURI()));
    String form = one.get("keyMetadata").asText();
    if (form.equals("none") || form.equals("keyId")) {
      builder.withConf(conf).withDecryption(raw(one));
    } else {
      conf.set("parquet.crypto.factory.class", "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory");
      conf.set("parquet.encryption.kms.client.class", Kms.class.getName());
      conf.set("parquet.encryption.cache.lifetime.seconds", "0");
      conf.set(KEYS, one.get("keys").toString());
      builder.withConf(conf);
    }
    return builder;
  }

  private static byte[] bytes(JsonNode hex) {
    return HexFormat.of().parseHex(hex.asText());
  }

  private static FileDecryptionProperties raw(JsonNode one) {
    FileDecryptionProperties.Builder builder = FileDecryptionProperties.builder();
    if (one.has("footerKey")) builder.withFooterKey(bytes(one.get("footerKey")));
    else builder.withKeyRetriever(name -> bytes(one.get("keys").get(new String(name, StandardCharsets.UTF_8))));
    if (one.has("aadPrefix")) builder.withAADPrefix(one.get("aadPrefix").asText().getBytes(StandardCharsets.UTF_8));
    Map<ColumnPath, ColumnDecryptionProperties> columns = new HashMap<>();
    if (one.has("columnKeys")) {
      one.get("columnKeys").fields().forEachRemaining(column -> {
        ColumnPath path = ColumnPath.fromDotString(column.getKey());
        columns.put(path, ColumnDecryptionProperties.builder(path).withKey(bytes(column.getValue())).build());
      });
    }
    if (!columns.isEmpty()) builder.withColumnKeys(columns);
    return builder.build();
  }

  private static ObjectNode struct(Group group) {
    ObjectNode fields = JSON.createObjectNode();
    for (Type field : group.getType().getFields()) {
      fields.set(field.getName(), value(group, field));
    }
    return fields;
  }

  private static JsonNode value(Group group, Type field) {
    String name = field.getName();
    if (group.getFieldRepetitionCount(name) == 0) return NullNode.instance;
    if (field.isPrimitive()) {
      return switch (field.asPrimitiveType().getPrimitiveTypeName()) {
        case INT32 -> JSON.getNodeFactory().numberNode(group.getInteger(name, 0));
        case INT64 -> JSON.getNodeFactory().numberNode(group.getLong(name, 0));
        default -> JSON.getNodeFactory().textNode(group.getString(name, 0));
      };
    }
    Group inner = group.getGroup(name, 0);
    boolean isMap = field.getLogicalTypeAnnotation() instanceof LogicalTypeAnnotation.MapLogicalTypeAnnotation;
    if (!isMap && field.getLogicalTypeAnnotation() == null) return struct(inner);
    ArrayNode items = JSON.createArrayNode();
    for (int item = 0; item < inner.getFieldRepetitionCount(0); item++) {
      Group entry = inner.getGroup(0, item);
      GroupType type = entry.getType();
      if (isMap) items.add(JSON.createArrayNode().add(value(entry, type.getType(0))).add(value(entry, type.getType(1))));
      else items.add(value(entry, type.getType(0)));
    }
    return items;
  }

  /** Unwraps with the keys of a case. */
  public static final class Kms implements KmsClient {
    private JsonNode keys;

    @Override
    public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
      try {
        keys = JSON.readTree(conf.get(KEYS));
      } catch (java.io.IOException failed) {
        throw new java.io.UncheckedIOException(failed);
      }
    }

    @Override
    public String wrapKey(byte[] key, String masterKeyId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public byte[] unwrapKey(String wrapped, String masterKeyId) {
      if (!keys.has(masterKeyId)) throw new ParquetCryptoRuntimeException("no such key: " + masterKeyId);
      byte[] aad = masterKeyId.getBytes(StandardCharsets.UTF_8);
      return KeyToolkit.decryptKeyLocally(wrapped, bytes(keys.get(masterKeyId)), aad);
    }
  }
}
