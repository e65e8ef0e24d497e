"""Coverage-guided fuzzing of the packet programs, compiled natively.

    python -m harness.fuzz parsers [PROTOCOL ...] [--inputs N] [--seed S]

An input is a frame. The target (target.c) runs the emitted XDP and TC programs (program.c) on it, and compares the
results with a plain reader of its own (datagram.c). The packet is on the heap, where ASan sees each access beyond it.
kernel.c does what the kernel does for programs: maps, helpers, packets.
"""
