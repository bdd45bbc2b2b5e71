"""Kinds of sources: a file for each."""
