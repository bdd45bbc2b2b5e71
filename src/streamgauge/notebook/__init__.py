"""Answers in notebooks: a widget that follows them, and plots with their bars."""
