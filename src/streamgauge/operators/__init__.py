"""Exact work on rows: predicates, aggregates, joins."""
