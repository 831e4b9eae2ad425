"""Tests that master keys in a KMS protect what they are to, whatever the KMS, or the network to it, does.

The Vault of the tests is `transit_server`, on `loopback`; `vault_state` has its rules, `answers` its words, and
`access` the options to reach it. AWS is moto behind `aws_server`; `gcp_server` and `azure_server` are `cloud_server`s.
`cluster_job` is a Spark of its own, whose output and heaps are searched for keys; `secret_job` has steps of it.
"""
