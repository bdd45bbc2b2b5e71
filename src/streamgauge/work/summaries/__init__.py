"""Sketches over windows."""
