"""The version of this package, which its connector must have too."""

__version__ = "0.1.0"
