"""Speed of the generated programs, side by side with a reflector and with kernel UDP: `just bench`."""
