"""Histograms: piecewise and wavelet pictures of a distribution or a signal."""
