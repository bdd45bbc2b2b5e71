"""Targets: where alerts and answers are delivered; a file for each kind, and their table."""
