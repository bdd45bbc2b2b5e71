"""Ground: instants and durations, errors, the wire codec, stable hashing, durable files."""
