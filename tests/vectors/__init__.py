"""Vectors of Parquet Modular Encryption: valid and tampered files, with keys and what a reader must do (README.md).

`index` reads vectors.json. `sealer` encrypts a plaintext file, `valid` and `tampered` make cases, `corpus` writes them.
`readers` are other programs, `runs` runs the cases there, and `table` is the part of docs/other-engines.md.
"""
