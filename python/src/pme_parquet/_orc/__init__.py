"""What ORC files state about themselves, without a key: start at `tail.read`.

`wire` parses protobuf and `chunks` decompresses, with the decoders of `codecs`; `types`, `encryption` and `stripes` are
the parts of a footer, and `masks` knows what each mask leaves readable. Nothing here is authenticated.
"""
