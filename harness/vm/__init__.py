"""Other kernels: Debian's, booted in an emulated machine on this machine's own root file system."""
