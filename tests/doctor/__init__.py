"""Tests of `pme.doctor`."""
