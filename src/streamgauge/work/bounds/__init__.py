"""Queries over source bounds."""
