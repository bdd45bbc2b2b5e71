"""What a stream is: schema, event time, keys, late policy."""
