"""Code that libFuzzer runs natively: the generated parsers, and the daemon's readers."""
