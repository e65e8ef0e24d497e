"""Measures every generated program on several kernels: the verifier's figures, and conformance."""
