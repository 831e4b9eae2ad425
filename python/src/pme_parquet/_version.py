"""The version of all that is released: the build of the jars and the other packages read it here."""

__version__ = "0.1.0"
