"""Alerts: crossings of answers, judged by their bars, each delivered once."""
