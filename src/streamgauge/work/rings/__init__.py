"""Windows of rows."""
