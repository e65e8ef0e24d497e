"""The tools that check the repository's text."""
