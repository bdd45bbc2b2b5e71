"""Who runs it: the interface, the shard runtime, and the only door to Spark."""
