"""Compare pme-parquet with Spark's own Parquet, plaintext and encrypted: ``python -m bench``, or ``make bench``.

Start at ``__main__``. ``cases`` says what is measured and ``variants`` with what; ``worker`` is the
process that measures.
"""
