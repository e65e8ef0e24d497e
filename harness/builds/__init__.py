"""Compiles programs and daemons in the form that a kernel can load."""
