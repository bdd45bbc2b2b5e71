"""From text to statements: the continuous query language."""
