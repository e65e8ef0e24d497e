"""Coverage-guided fuzzing of the packet programs, compiled natively.

    python -m harness.fuzz parsers [PROTOCOL ...] [--inputs N] [--seed S]

An input is a frame. The target (target.c) gives it to the emitted XDP and TC programs (program.c) over the
heap, where ASan sees each byte that is beyond it, and holds what comes of it against a plain reader of its own
(datagram.c). kernel.c is what the kernel does for programs: maps, helpers, packets.
"""
