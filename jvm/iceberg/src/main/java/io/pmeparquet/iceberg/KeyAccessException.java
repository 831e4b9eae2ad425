package io.pmeparquet.iceberg;

import io.pmeparquet.PmeException;

/** A {@link PmeException} where Iceberg's interface allows no checked exception. It has the same message. */
public final class KeyAccessException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  KeyAccessException(PmeException failed) {
    super(failed.getMessage(), failed);
  }

  /** The condition's name, for Spark 4. */
  public String getCondition() {
    return ((PmeException) getCause()).getCondition();
  }

  /** The condition's name, for Spark 3. */
  public String getErrorClass() {
    return getCondition();
  }
}
