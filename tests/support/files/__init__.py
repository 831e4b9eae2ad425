"""Encrypted Parquet files byte by byte, taken apart and forged without the code that is tested. Start at `anatomy`.

`thrift` and `bend` read and write the structures of a file; `anatomy` finds each module; `forge`, `insiders` and
`mutations` make other files of them; `writers` and `tails` make files to begin with.
"""
