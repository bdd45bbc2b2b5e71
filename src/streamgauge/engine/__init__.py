"""Who runs it: the interface, the reference, the shard runtime, and the only door to Spark."""
