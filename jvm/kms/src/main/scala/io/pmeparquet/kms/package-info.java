/**
 * Clients of KMSs. `KmsAccess` is the register: it makes settings from options, and opens a KMS from settings. The
 * classes `VaultKmsClient`, `HadoopKmsClient` and `PythonKms` are public names, for parquet-java's setting
 * `parquet.encryption.kms.client.class`. Knows parquet-java's `KmsClient` and Hadoop's configuration, and no Parquet
 * file.
 *
 * To add a KMS, say `kms=foo`, as a class that implements parquet-java's `KmsClient` (the usual way; AWS is an
 * example):
 *  1. Options: declare `kms.foo.*` in `options/KmsOptions` of core, add them to `kmsOptions` in
 *     `options/KmsOptions`, and name `foo` in the description of the option `kms` there.
 *  2. Register: an entry in `options/ClientKind` of core. `KmsAccess` reads it; it needs no change.
 *  3. The class: in Java, `io.pmeparquet.kms.foo.FooKmsClient` in a module `jvm/kms-foo`, if it has a jar of its own (in
 *     build.sbt: `kmsClient`, and `aggregate` and `jars` of the root); otherwise `io.pmeparquet.kms.FooKmsClient` here,
 *     with its helpers in a folder `foo`. `client` has its tools: `KmsClientSettings` reads options, `CloudKms` and
 *     `KmsLogin` call and log in, `KmsFailure` is what it throws. If the KMS signs, it is a `SigningClient` as well. A
 *     new package needs a line in scripts/layers.txt.
 *  4. Python: a class in `python/src/pme_parquet/_kms`, exported by `pme_parquet/__init__.py`; the name in `_cli`
 *     (`checking`, `given`), and options that hold secrets in `_cli/parsing`.
 *  5. Docs: `make docs-update` for docs/options.md; docs/keys.md, docs/api.md and the table in
 *     docs/architecture.md; CHANGELOG.md.
 *  6. Tests: `KmsAccessSuite` and `ClientKindSuite` cover each entry; tests/kms/client/test_foo.py for the client's
 *     failures, without Spark; tests/kms/test_foo.py with Spark; both with a server that replaces the KMS;
 *     tests/python/test_cloud_options.py, and for a jar `CLOUDS` in tests/packaging/test_packages.py.
 *
 * A KMS that gives out master keys, or wraps several keys in one call, needs code of its own, as Vault and the
 * keystore have. Then steps 2 and 3 are: a folder here with its settings (a `KmsSettings`), what makes them from
 * options (as `vault/VaultSettings`) and its `Kms`; and two entries in `KmsAccess`, in `own` and in `open`.
 */
package io.pmeparquet.kms;
