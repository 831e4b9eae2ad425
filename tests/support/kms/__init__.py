"""KMS servers and clients that tests look into: Vault transit (`transit_server`), AWS (`moto_server`), counters."""
