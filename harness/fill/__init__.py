"""A protocol's tables filled with millions of keys, served and restarted, and every key asked for again: `just fill`.

What a protocol brings: spec/<p>/fill.py and fill.h, see docs/live.md.
"""
