"""What checks of tables of several formats share.

`findings` collects what is readable, and is the answer; `files` lists files and looks at them without a key.
"""
