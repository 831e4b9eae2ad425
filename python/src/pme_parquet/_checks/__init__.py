"""What checks of tables of several formats share.

`findings` collects what is readable; `result` is the answer, and `view` shows it; `modules` and `sums` look at files
without a key, and `bounds` has the error of files that are not what they must be.
"""
