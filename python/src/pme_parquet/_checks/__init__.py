"""What checks of tables of several formats share.

`findings` collects what is readable; `result` is the answer, and `view` shows it; `modules` looks at files
without a key.
"""
