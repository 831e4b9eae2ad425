"""Random tables, conditions over them, and reads. The same seed gives the same."""
