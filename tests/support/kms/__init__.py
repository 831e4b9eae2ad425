"""KMS servers (`hadoop_server`, `moto_server`), and clients that record their calls: `counting` in Java, `clients`."""
