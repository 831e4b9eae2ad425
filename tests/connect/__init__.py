"""Tests over Spark Connect."""
