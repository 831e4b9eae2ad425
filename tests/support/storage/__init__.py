"""File systems that stop, meet or remember, loaded into the JVM from Java sources beside."""
