"""The only door to Spark."""
