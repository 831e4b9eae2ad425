package hdfs;

import java.net.InetSocketAddress;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.EditLogFileOutputStream;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.MetricsRecord;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/**
 * A name node and a data node in one process, on free ports of this machine: {@code HdfsServer FOLDER}.
 *
 * <p>It prints the ports of the name node for clients and for WebHDFS, and ends when its input does. For each line of
 * input it prints how often each method of the name node was called.
 */
public final class HdfsServer {
  private static final String ANY_PORT = "127.0.0.1:0";
  private static final String COUNT = "NumOps";

  private HdfsServer() {}

  public static void main(String[] arguments) {
    try {
      run(arguments);
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    // Its threads would keep it alive.
    Runtime.getRuntime().halt(1);
  }

  private static void run(String[] arguments) throws Exception {
    String folder = arguments[0];
    Configuration conf = new Configuration();
    conf.set("fs.defaultFS", "hdfs://" + ANY_PORT);
    conf.set("dfs.namenode.name.dir", "file://" + folder + "/name");
    conf.set("dfs.datanode.data.dir", "file://" + folder + "/data");
    for (String address :
        List.of("dfs.namenode.http-address", "dfs.datanode.address", "dfs.datanode.http.address", "dfs.datanode.ipc.address")) {
      conf.set(address, ANY_PORT);
    }
    conf.set("dfs.datanode.hostname", "127.0.0.1");
    conf.set("dfs.namenode.datanode.registration.ip-hostname-check", "false");
    conf.set("dfs.replication", "1");
    conf.set("dfs.heartbeat.interval", "1");
    conf.set("dfs.namenode.acls.enabled", "true");
    // Formatting registers the same metrics as the name node after it.
    DefaultMetricsSystem.setMiniClusterMode(true);
    // A disk that waits for each change would take most of the time of the tests.
    EditLogFileOutputStream.setShouldSkipFsyncForTesting(true);
    // Otherwise it asks on the terminal.
    StartupOption.FORMAT.setInteractiveFormat(false);
    NameNode.format(conf);
    NameNode names = NameNode.createNameNode(new String[] {}, conf);
    conf.set("fs.defaultFS", "hdfs://127.0.0.1:" + names.getNameNodeAddress().getPort());
    conf.set("dfs.namenode.rpc-address", "127.0.0.1:" + names.getNameNodeAddress().getPort());
    DataNode data = DataNode.instantiateDataNode(new String[] {}, conf);
    data.runDatanodeDaemon();
    while (!data.isDatanodeFullyStarted()) {
      Thread.sleep(20);
    }
    InetSocketAddress web = names.getHttpAddress();
    System.out.println("ports " + names.getNameNodeAddress().getPort() + " " + web.getPort());
    for (int next = System.in.read(); next >= 0; next = System.in.read()) {
      if (next == '\n') System.out.println(calls(names.getNameNodeAddress().getPort()));
    }
  }

  private static String calls(int port) {
    MetricsCollectorImpl collected = new MetricsCollectorImpl();
    DefaultMetricsSystem.instance().getSource("RpcDetailedActivityForPort" + port).getMetrics(collected, true);
    StringBuilder text = new StringBuilder("calls");
    for (MetricsRecord record : collected.getRecords()) {
      for (AbstractMetric metric : record.metrics()) {
        // Another count includes the time that a call waited.
        if (metric.name().endsWith(COUNT) && !metric.name().startsWith("Overall")) {
          String method = metric.name().substring(0, metric.name().length() - COUNT.length());
          text.append(' ').append(method).append('=').append(metric.value());
        }
      }
    }
    return text.toString();
  }
}
