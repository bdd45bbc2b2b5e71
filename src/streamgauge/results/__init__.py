"""Answers kept and delivered: blocks, change log, latest table, subscriptions, sinks."""
