"""Techniques: a folder for each way of answering queries."""
