"""The edge: a light agent beside a source that sends only what the answers need."""
