"""How results, progress and objects are shown. Start at `content`: a title, tables and lines.

`forms` turns a content into text, HTML and rich's tables, and `fitting` fits tables into the width of a terminal.
`showable` gives a result these forms; `brief` gives other objects their `repr`. `words` formats sizes, numbers and
printable texts, `causes` groups findings, and `progress` shows progress. Nothing here knows keys or files:
each result makes its own content, in a module `view` of its package if that takes more than a few lines.
"""
