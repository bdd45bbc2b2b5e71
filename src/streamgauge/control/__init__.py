"""Statements that come from elsewhere and are taken once each: a topic of Kafka."""
