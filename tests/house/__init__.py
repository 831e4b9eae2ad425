"""The house itself: which part of the project may use which."""
