"""Sketches across streams."""
