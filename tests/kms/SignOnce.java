import io.pmeparquet.Secret;
import io.pmeparquet.keys.SigningKey;
import io.pmeparquet.kms.client.ClientClassKms;
import io.pmeparquet.kms.client.ClientClassSettings;
import java.util.Base64;
import org.apache.hadoop.conf.Configuration;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;

/** Signs the text "a message" with AWS KMS: endpoint, region and key's id are the arguments. Prints key and signature, or why not. */
final class SignOnce {
  public static void main(String[] arguments) {
    var conf = new Configuration(false);
    conf.set("parquet.encryption.kms.aws.endpoint", arguments[0]);
    conf.set("parquet.encryption.kms.aws.region", arguments[1]);
    Map<String, Secret> handed = Map$.MODULE$.empty();
    Map<String, Option<String>> withheld = Map$.MODULE$.empty();
    var settings =
        new ClientClassSettings(
            "io.pmeparquet.kms.aws.AwsKmsClient", "DEFAULT", "DEFAULT", new Secret("DEFAULT"), "tests", handed, withheld);
    try {
      SigningKey key = ClientClassKms.open(settings, conf).signingKey(arguments[2], "table t");
      System.out.println(key.algorithm());
      System.out.println(Base64.getEncoder().encodeToString(key.publicKey().getEncoded()));
      System.out.println(Base64.getEncoder().encodeToString(key.sign("a message".getBytes(), "table t")));
    } catch (Exception refused) {
      // Scala does not declare a PmeException, which is a checked one to Java.
      System.out.println(refused.getMessage());
    }
  }
}
