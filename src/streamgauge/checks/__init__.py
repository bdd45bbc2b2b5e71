"""Checks: what every synopsis must stand up to, usable on a synopsis of your own.

`conformance` holds the laws (merging, bytes, bad input), `streams` the named streams, `trials` the
statistics: promises against truth, with a stated rate of false alarms.
"""
