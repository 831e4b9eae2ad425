"""Where master keys live: one class for each KMS. Start at `clouds`, the model for a new one.

A KMS is an object whose `options()` (`protocol`) name its address and its credentials. `secrets` has the references to
credentials: no option contains a secret. `keystore` also creates keystores and keys: it runs `keytool`, and
`keystore_file` replaces the file. The clients that call a KMS are in the connector's jar; only `python` calls one from
Python.
"""
