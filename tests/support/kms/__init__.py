"""KMS servers and clients that record their calls: Vault transit (`transit_server`), AWS (`moto_server`), counters."""
