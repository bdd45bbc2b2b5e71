"""Sinks: answers delivered to Kafka and PostgreSQL, each once, beside the running job."""
