"""`pme.plan`: what a write would do, compared with what it does."""
