"""The segment log: landing, the journal, history, replay."""
