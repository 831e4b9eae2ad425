"""Rotation of master keys, seen from outside: what readers read, what bytes are left, what the KMS was asked."""
