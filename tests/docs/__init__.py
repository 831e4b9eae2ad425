"""The documents and examples do what they say."""
