"""Frequencies: how often each item occurs, and which occur most."""
