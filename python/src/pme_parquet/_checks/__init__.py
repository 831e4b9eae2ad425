"""What checks of tables of several formats share.

`findings` collects what is readable, and is the answer; `modules` looks at files without a key.
"""
