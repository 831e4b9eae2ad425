"""What ORC files state about themselves, without a key: start at `tail.read`.

`wire` parses protobuf and `codecs` decompresses; `types` and `encryption` are parts of a footer, and `masks` knows what
each mask leaves readable. Nothing here is authenticated.
"""
