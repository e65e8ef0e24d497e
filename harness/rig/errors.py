"""The errors of a rig."""


class RigError(RuntimeError):
    """The rig could not be set up, or a command in it failed; the message says which and why."""
