/** Parts: Parquet files with a row for each data file, and their keys. Start at {@code PartFile}. */
package io.pmeparquet.snapshot.parts;
