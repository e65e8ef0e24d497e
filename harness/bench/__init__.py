"""Measures the speed of the generated programs beside a reflector and kernel UDP: `just bench`."""
