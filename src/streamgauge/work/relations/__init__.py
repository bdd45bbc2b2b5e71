"""Views of rows."""
