"""Windows of time in panes."""
