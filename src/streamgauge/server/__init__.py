"""The server: a gauge over HTTP, for people, programs and monitoring."""
