"""Models, how TLC runs them, and the values and counterexamples that it prints."""
