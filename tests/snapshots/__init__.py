"""Snapshots of sealed tables. The tests of listing them need no JVM."""
