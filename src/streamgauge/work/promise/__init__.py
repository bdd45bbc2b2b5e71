"""Queries under a work budget."""
