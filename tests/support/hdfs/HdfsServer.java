package hdfs;

import java.net.InetSocketAddress;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.EditLogFileOutputStream;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/**
 * A name node and a data node in one process, on free ports of this machine: {@code HdfsServer FOLDER}.
 *
 * <p>It prints the ports of the name node for clients and for WebHDFS, and ends when its input does.
 */
public final class HdfsServer {
  private static final String ANY_PORT = "127.0.0.1:0";

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
    while (System.in.read() >= 0) {}
  }
}
