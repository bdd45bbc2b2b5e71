"""Decaying windows."""
