"""Tests that master keys in Vault protect what they are to, whatever Vault, or the network to it, does."""
