"""Options that several kinds of sources have."""

from __future__ import annotations

from streamgauge.sources.source_kind import Option

TIME_UNIT = Option("time_unit", "word")
USER = Option("user", "text", toml="text")
PASSWORD_FILE = Option("password_file", "text", toml="file", file=True)
PASSWORD_ENV = Option("password_env", "text", toml="text")
CA = Option("ca", "text", toml="file", file=True)
