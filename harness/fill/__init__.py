"""Fills a protocol's tables with millions of keys, restarts the server, and reads every key again: `just fill`.

A protocol brings spec/<p>/bench/fill.py and fill.h; see docs/reference/live.md.
"""
