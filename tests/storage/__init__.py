"""Every operation in an object store: what it leaves, how often it asks, and what happens if the store fails."""
