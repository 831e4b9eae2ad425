"""The Spark session: its connector jar, its errors, and calls into its JVM. Start at `session`.

`connector` finds the bundled jar that fits the installed Spark, and checks that of a running session; `session` adds it
to a session. `errors` turns failures of the connector into `PmeError`. `driver` calls the connector's
objects in the driver's JVM. Nothing here knows keys, files or options of the format.
"""
