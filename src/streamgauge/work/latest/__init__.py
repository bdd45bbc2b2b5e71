"""Latest values."""
