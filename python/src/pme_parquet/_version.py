"""The version of this package. The connector must have the same."""

__version__ = "0.1.0"
