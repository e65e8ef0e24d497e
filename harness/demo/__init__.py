"""Demonstrates protocols from the model to live traffic, with figures: `just demo`."""
