"""Where master keys live: one class for each KMS. Start at `services`: a new one is like those.

A KMS is an object whose `options()` name its address and its credentials. `secrets` has the references to
credentials: no option contains a secret. `keystore` also creates keystores and keys: `keystore_file` runs
`keytool` and replaces the file. The clients that call a KMS are in the connector's jar; only `python` calls one from
Python.
"""
