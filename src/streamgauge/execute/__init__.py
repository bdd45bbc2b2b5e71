"""Statements brought to a gauge: what they would change, and what they show."""
