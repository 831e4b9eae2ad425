package io.pmeparquet.parquet.chunk

/**
 * A chunk with its ciphers: what every reader of its pages needs. For one thread.
 *
 * @param modules none if the chunk is not encrypted
 * @param file its path, for messages
 */
private[parquet] final class ChunkSource(
    val chunk: Chunk,
    val modules: Option[ChunkModules],
    val file: String
) {

  /** File and column, for messages. */
  val where: String = s"$file, column '${chunk.display}'"
}
