"""One frame never sees the keys of another."""
