"""Moments: powers of frequencies, join sizes and distances between streams."""
