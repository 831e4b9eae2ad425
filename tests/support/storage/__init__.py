"""File systems that stop, synchronize or record, loaded into the JVM from the Java sources in this folder."""
