"""`just report`: puts the findings of all commands into one HTML file; see docs/reference/report.md."""
