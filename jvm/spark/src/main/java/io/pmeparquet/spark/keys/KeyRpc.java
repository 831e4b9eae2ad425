package io.pmeparquet.spark.keys;

import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.util.RpcUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import scala.PartialFunction;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

import io.pmeparquet.parquet.scope.ScopeRegistry$;

/**
 * Messages about keys between executors and their driver, over Spark's own RPC. Every cluster has this connection, and
 * Spark's settings encrypt it. In Java, because Scala hides Spark's RPC from code in other packages.
 */
final class KeyRpc {
  /** The endpoint of this copy of the class. Class loaders of the driver may have copies with their own key brokers. */
  static final String NAME = "pme-parquet-keys-" + UUID.randomUUID();

  /** The endpoint for who has a configuration and no name of an endpoint. One copy of the class has it. */
  static final String CONFIGURATIONS = "pme-parquet-configurations";

  /** The driver's RPC where the endpoint already answers. A driver can have one RPC after another. */
  private static RpcEnv answering;

  /** The same for {@code CONFIGURATIONS}, whether it is this copy or another that answers. */
  private static RpcEnv asked;

  private static final Logger LOG = LoggerFactory.getLogger(KeyRpc.class);

  private KeyRpc() {}

  /** Driver only: answers from now on, until the application ends. Returns the name of the endpoint. */
  static synchronized String answer() {
    RpcEnv rpc = SparkEnv.get().rpcEnv();
    if (answering != rpc) {
      rpc.setupEndpoint(NAME, new Answers(rpc, KeyCallers::answer));
      answering = rpc;
    }
    return NAME;
  }

  /** Driver only: answers requests for key brokers from now on, unless another copy of this class does. */
  static synchronized void answerConfigurations(UnaryOperator<byte[]> answers) {
    RpcEnv rpc = SparkEnv.get().rpcEnv();
    if (asked != rpc) {
      try {
        rpc.setupEndpoint(CONFIGURATIONS, new Answers(rpc, answers));
      } catch (IllegalArgumentException taken) {
        LOG.info("Another copy of this format in the driver answers for configurations.");
      }
      asked = rpc;
    }
  }

  /** Whether a request failed because nobody answers under that name. */
  static boolean isUnknown(Throwable failed) {
    for (Throwable one = failed; one != null; one = one.getCause()) {
      if (one.getClass().getSimpleName().equals("RpcEndpointNotFoundException")) return true;
    }
    return false;
  }

  /** Asks the driver, and waits. */
  static byte[] ask(String name, byte[] request) {
    SparkEnv env = SparkEnv.get();
    RpcEndpointRef driver = RpcUtils.makeDriverRef(name, env.conf(), env.rpcEnv());
    return driver.<byte[]>askSync(request, ClassTag$.MODULE$.apply(byte[].class));
  }

  /** Answers in threads of its own: a KMS takes a while, and Spark has few threads for messages. */
  private static final class Answers implements RpcEndpoint {
    private static final int THREADS = 128;
    private static final long IDLE_SECONDS = 30;

    private final RpcEnv rpc;
    private final UnaryOperator<byte[]> answers;
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(
        THREADS, THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
          Thread thread = new Thread(work, "pme-parquet-keys");
          thread.setDaemon(true);
          return thread;
        });

    Answers(RpcEnv rpc, UnaryOperator<byte[]> answers) {
      this.rpc = rpc;
      this.answers = answers;
      threads.allowCoreThreadTimeOut(true);
    }

    @Override
    public RpcEnv rpcEnv() {
      return rpc;
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
      return new AbstractPartialFunction<Object, BoxedUnit>() {
        @Override
        public boolean isDefinedAt(Object message) {
          return message instanceof byte[];
        }

        @Override
        public BoxedUnit apply(Object message) {
          threads.execute(() -> reply(context, (byte[]) message));
          return BoxedUnit.UNIT;
        }
      };
    }

    private void reply(RpcCallContext context, byte[] request) {
      try {
        context.reply(answers.apply(request));
      } catch (Throwable failed) {
        // The executor waits for an answer, and may not have the class of the failure. The message goes nowhere,
        // because it may contain what the executor asked for.
        LOG.error("internal error: {} at {}", failed.getClass().getName(), Arrays.toString(failed.getStackTrace()));
        context.sendFailure(new IllegalStateException("internal error: " + failed.getClass().getName()));
      }
    }

    @Override
    public void onStop() {
      threads.shutdownNow();
      // The application ends: nobody needs its keys, nor what opened its KMS.
      ScopeRegistry$.MODULE$.close();
    }
  }
}
