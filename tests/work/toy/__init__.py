"""A technique of the tests: how often a stream has had rows."""
