package io.pmeparquet.testkit

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem}

/**
 * The same for who uses Hadoop's `FileContext`, as Spark does for the checkpoints of streams, and we for renames: fourteen
 * processes for each file. It is `fs.AbstractFileSystem.file.impl`.
 */
class QuickLocalFs(uri: URI, conf: Configuration) extends ChecksumFs(new QuickRawFs(uri, conf))

private class QuickRawFs(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(uri, new QuickRawFileSystem, conf, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def isValidName(name: String): Boolean = true
}
