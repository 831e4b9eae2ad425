import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import java.util.stream.Stream;
import java.util.Spliterators;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Runs statements of Flink SQL in a local cluster. Arguments: `batch` or `streaming`, and a file of statements, one on each line.
 * Prints a line for each: the rows that it returned, joined by `;`, or the messages of its failure and of all causes.
 */
public final class FlinkTables {
  private FlinkTables() {}

  public static void main(String[] arguments) throws Exception {
    EnvironmentSettings.Builder settings = EnvironmentSettings.newInstance();
    TableEnvironment tables =
        TableEnvironment.create(
            (arguments[0].equals("batch") ? settings.inBatchMode() : settings.inStreamingMode()).build());
    tables.getConfig().set("parallelism.default", "2");
    for (String statement : Files.readAllLines(Path.of(arguments[1]))) {
      System.out.println(result(tables, statement).replace('\n', ' '));
    }
  }

  private static String result(TableEnvironment tables, String statement) {
    try {
      TableResult done = tables.executeSql(statement);
      if (statement.startsWith("INSERT")) {
        done.await();
        return "written";
      }
      try (var rows = done.collect()) {
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(rows, 0), false)
            .map(Object::toString)
            .sorted()
            .collect(Collectors.joining(";"));
      }
    } catch (Exception failed) {
      List<Throwable> causes = Stream.iterate((Throwable) failed, one -> one != null, Throwable::getCause).toList();
      return causes.stream().map(Throwable::toString).collect(Collectors.joining(" <- ", "FAILED ", ""));
    }
  }
}
