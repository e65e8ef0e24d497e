"""Boots other Debian kernels in an emulated machine, on this machine's own root file system."""
