"""Test kit: what tests of this package, and of yours, have in common."""
