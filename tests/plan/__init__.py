"""`pme.plan`: what a write would do, against what it does."""
