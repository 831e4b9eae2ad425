"""Stores of clouds: the real clients of Hadoop, against servers of ours that answer as the stores do."""
