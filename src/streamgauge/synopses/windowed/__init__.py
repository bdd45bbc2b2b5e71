"""Windowed: synopses that expire or fade rows by themselves."""
