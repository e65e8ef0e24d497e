"""Shared by every room: the protocols and their folders, how a command ends, and files."""
