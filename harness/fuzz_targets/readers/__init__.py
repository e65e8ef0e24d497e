"""Coverage-guided fuzzing of the data that the daemon reads: segments, rows and datagrams.

    python -m harness.fuzz readers [TARGET ...] [--inputs N] [--seed S]

A target is a C file of this folder, compiled with the daemon's own sources, ASan and UBSan:

    segments.c   gives a folder of made-up segments to runtime/segments/segment_reader.c, to recovery and to copying
    rows.c       gives a made-up file to runtime/segments/row_reader.c
    frames.c     gives made-up frames to the endpoints of the ring buffer and of AF_XDP, and to a protocol's handler

Each compares the result with a plain reader, or with the daemon's own output for it. quiet.c replaces the daemon's log.
"""
