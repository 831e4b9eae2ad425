package isolation;

/** No KMS client: its initializer says that it ran, which a class that is only looked at does not do. */
public final class Loud {
  static {
    System.setProperty("pme.test.loud", "initialized");
  }
}
