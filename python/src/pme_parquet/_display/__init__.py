"""How results, progress and objects are shown. Start at `content`: a title, tables and lines, and their forms.

`brief` gives objects that are no results their `repr`, `words` formats sizes, numbers and printable texts and groups
findings, and `progress` shows progress. Nothing here knows keys or files: each result makes its own content.
"""
