"""Which part of this project may use which, checked and drawn. Start at `command`, or run `scripts/house --help`.

`scala` and `python` read sources into `Use`s; `rules` reads the declared layers from `scripts/layers.txt`; `check`
compares the two; `graph` finds circles; `draw` makes the picture. Only the standard library is needed.
"""
