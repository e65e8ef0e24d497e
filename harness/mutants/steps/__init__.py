"""Puts plausible one-line faults into the steps themselves. A property with a name must find each of them."""
