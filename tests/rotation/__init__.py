"""Rotation of master keys from outside: what readers read, which bytes are left, and the calls of the KMS."""
