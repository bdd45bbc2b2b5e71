"""Which part of the stream is alive: window values, panes and rings."""
