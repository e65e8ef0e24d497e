"""A protocol that runs on a rig, with its daemon, its counters and a load of many clients."""
