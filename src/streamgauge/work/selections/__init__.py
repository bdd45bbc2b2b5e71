"""Selections over one stream."""
