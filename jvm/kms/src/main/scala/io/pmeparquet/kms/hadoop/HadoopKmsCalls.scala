package io.pmeparquet.kms.hadoop

import java.security.PrivilegedExceptionAction
import java.util.concurrent.{Callable, ExecutionException, FutureTask, TimeUnit, TimeoutException}

import org.apache.hadoop.security.authentication.client.AuthenticationException
import org.apache.hadoop.security.authorize.AuthorizationException
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.kms.client.KmsFailure
import io.pmeparquet.PmeException

/** Calls of a Hadoop KMS: their time is limited, and their failures are told in our terms. */
private[kms] final class HadoopKmsCalls(timeoutMillis: Long) {
  def timeoutSeconds: Int = (timeoutMillis / 1000).toInt

  /**
   * Hadoop's own limit is for one attempt at one connection, and each call has several. So each has a thread, which is
   * left alone when time is up and ends when its socket does.
   */
  def of[A](masterKeyId: String)(call: => A): A = {
    if (!masterKeyId.matches(HadoopKmsCalls.Name))
      throw KmsFailure.missing("Hadoop KMS has no key of such a name", null)
    val user = UserGroupInformation.getCurrentUser
    val asked = new PrivilegedExceptionAction[A] { override def run(): A = call }
    val task = new FutureTask[A](new Callable[A] {
      override def call(): A = user.doAs(asked)
    })
    val thread = new Thread(task, "pme-hadoop-kms")
    thread.setDaemon(true)
    thread.start()
    try task.get(timeoutMillis, TimeUnit.MILLISECONDS)
    catch {
      case failed: ExecutionException => throw HadoopKmsCalls.failure(failed.getCause, masterKeyId)
      case _: TimeoutException =>
        task.cancel(true)
        throw KmsFailure.unavailable(s"Hadoop KMS gave no answer within $timeoutSeconds s", null)
      case interrupted: InterruptedException =>
        task.cancel(true)
        Thread.currentThread().interrupt()
        throw KmsFailure.unavailable("waiting for Hadoop KMS was interrupted", interrupted)
    }
  }
}

private[kms] object HadoopKmsCalls {

  /** What can be part of a path in Hadoop's requests and lead nowhere else. */
  private val Name = "[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}"

  /** How a server says that it cannot make a key under one that it does not have; to open one, it has a type for that. */
  private val NoSuchKey = "No KeyVersion exists for key"

  /** A server that makes keys ahead says of what it may not do the name of the exception, in the message of another. */
  private val NotAuthorized = classOf[AuthorizationException].getName

  private def failure(failed: Throwable, masterKeyId: String): Throwable = {
    val causes = PmeException.causes(failed)
    def any(is: Throwable => Boolean) = causes.exists(is)
    def says(words: String) = any(cause => String.valueOf(cause.getMessage).contains(words))
    if (any(_.isInstanceOf[AuthorizationException]) || says(NotAuthorized))
      KmsFailure.denied(s"Hadoop KMS does not let this user use key '$masterKeyId'", failed)
    else if (any(_.isInstanceOf[AuthenticationException]))
      KmsFailure.unavailable("Hadoop KMS refused the login of this user", failed)
    else if (says(NoSuchKey) || any(isNotFound))
      KmsFailure.missing(s"Hadoop KMS does not have key '$masterKeyId'", failed)
    else
      KmsFailure.unavailable(
        s"a call to Hadoop KMS failed (${causes.last.getClass.getSimpleName})",
        failed
      )
  }

  private def isNotFound(cause: Throwable) =
    cause.isInstanceOf[IllegalArgumentException] && String.valueOf(cause.getMessage).endsWith("not found")
}
