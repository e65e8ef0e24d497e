"""Runs programs: in network namespaces with native XDP (`Rig`), and as BPF objects in Python (`bpf`)."""

from harness.rig.errors import RigError
from harness.rig.netns import Endpoint, Rig, entered

__all__ = ["Endpoint", "Rig", "RigError", "entered"]
