"""Tests of interchange: other writers' files read here, our files read there."""
