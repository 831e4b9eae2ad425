"""The steps of ``examples/demo.py``, one module each."""
