"""Every generated program on several kernels: what their verifiers make of them, and whether they conform."""
