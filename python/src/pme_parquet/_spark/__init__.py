"""The Spark session: its connector jar, its errors, and calls into its JVM. Start at `session`.

`jars` finds the bundled jar that fits the installed Spark, and `session` adds it to a session. `connector` checks the
jar of a running session. `errors` turns failures of the connector into `PmeError`. `driver` calls the connector's
objects in the driver's JVM. Nothing here knows keys, files or options of the format.
"""
