"""Coverage-guided fuzzing of what the daemon reads: segments, rows, and datagrams.

    python -m harness.fuzz readers [TARGET ...] [--inputs N] [--seed S]

A target is a C file of this folder over the daemon's own sources, compiled with ASan and UBSan:

    segments.c   a folder of made-up segments, to runtime/segments/segments_read.c and what recovers and copies them
    rows.c       a made-up file, to runtime/segments/rows.c
    frames.c     made-up frames, to the endpoints of the ring buffer and of AF_XDP, and to a protocol's handler

Each holds what comes of it against a plain reader, or against what the daemon itself writes of it. quiet.c takes the
place of the messages.
"""
