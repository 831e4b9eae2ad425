"""Encrypted Parquet files byte by byte, parsed and forged without the tested code. Start at `anatomy`.

`thrift` and `bend` read and write the structures of a file; `anatomy` finds each module; `forge` and `mutations` make
altered files; `writers` and `handmade` make the original files.
"""
