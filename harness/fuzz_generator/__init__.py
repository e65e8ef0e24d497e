"""Fuzzes the generator: made-up protocols are refused with a reason, or built and compared with their steps."""
