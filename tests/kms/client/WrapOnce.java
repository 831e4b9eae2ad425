import io.pmeparquet.kms.aws.AwsKmsClient;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;

/** Wraps and unwraps one key in a process of its own: endpoint, key's id and seconds are the arguments, the rest is the environment's. */
final class WrapOnce {
  public static void main(String[] arguments) {
    var conf = new Configuration(false);
    conf.set("parquet.encryption.kms.aws.endpoint", arguments[0]);
    conf.set("parquet.encryption.kms.timeoutSeconds", arguments[2]);
    var client = new AwsKmsClient();
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT");
    byte[] key = new byte[16];
    byte[] opened = client.unwrapKey(client.wrapKey(key, arguments[1]), arguments[1]);
    System.out.println(Arrays.equals(key, opened) ? "OPENED" : "OTHER KEY");
  }
}
