package io.pmeparquet.spark.admin.migration

import java.nio.file.Files

import org.apache.hadoop.fs.Path

import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.keys.HolderKms
import io.pmeparquet.spark.options.{OrcResolver, ResolvedOptions}
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshot.{SealState, SnapshotReads}
import io.pmeparquet.Condition.SnapshotMismatch

/** The look at the files of a sealed table before a migration. */
class OrcFileCheckSuite extends SealedSuite {
  private val owner = HolderKms.options("pii", "sign:signer")

  test("the keys of a migration come from bytes that were compared") {
    val frame = numbers(0, 10, files = 1).selectExpr("id", "concat('name-', id) AS name")
    frame.write.format("pme-orc").options(owner + ("columnKeys" -> "pii: name")).save(target)
    seal(target, owner + ("signingKey" -> "signer"), session = fresh)
    val pem = Files.write(directory.resolve("signer.pem"), HolderKms.pem("signer").getBytes)
    val options = ResolvedOptions.ofFrame(fresh, HolderKms.options("pii") + ("verifyKey" -> s"file:$pem"))
    val seals = SealState.of(new SnapshotReads(options).tables(Seq(new Path(target)), _ => false))
    val local = allFiles().filter(_.toString.endsWith(".orc")).head
    val file = OrcFile(local.toUri.toString, Files.size(local), 0, "")
    val scope = new OrcResolver(options, None).read(isSparks = false)
    def look(seals: SealState) =
      new OrcFileCheck(scope, None, Nil, caseSensitive = false, seals.broadcast(spark))
        .of(file, SparkAccess.hadoopConf(spark, Map.empty))
    assertEquals(
      look(seals).encrypted.map { case (name, key) => name -> key.text },
      List(List("name") -> "pii@0")
    )
    // A byte of the data, which a look at the end of the file does not need.
    AlteredFile.flip(local, 10)
    look(SealState.Unsealed)
    refused(SnapshotMismatch)(look(seals))
  }
}
