"""`just report`: all that the commands found, as one HTML file; docs/report.md."""
