"""Interchange with other writers and readers: their files read here, our files read there."""
