"""Audit: some standing queries run exactly beside themselves, and what they claim is tested."""
