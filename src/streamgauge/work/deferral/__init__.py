"""Deferred queries."""
