"""Loads, serves, unloads and recovers a protocol on this host."""
