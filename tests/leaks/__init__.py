"""No way of writing leaves a byte of a protected column readable, and no output shows a secret."""
