"""Login: who we are to a broker or a database. The password itself is never part of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.secrets import first_line

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True)
class Login:
    """A user, and where the password is found when it is needed.

    Parameters
    ----------
    user
        Who we are; nobody when empty.
    password_file, password_env
        File whose first line is the password, or variable of the environment that holds it.
    ca
        File of the certificates that we believe; with it the connection is TLS.
    mechanism
        How a broker of Kafka asks for the password: PLAIN when empty, or SCRAM.

    Examples
    --------
    >>> Login.of(user="ann", password_env="BROKER_PASSWORD").as_dict()
    {'user': 'ann', 'password_env': 'BROKER_PASSWORD'}
    """

    user: str = ""
    password_file: str = ""
    password_env: str = ""
    ca: str = ""
    mechanism: str = ""

    def __post_init__(self) -> None:
        if self.password_file and self.password_env:
            raise BindError(
                "a password is in one place",
                f"given were the file {self.password_file} and the variable {self.password_env}",
                "name one of them",
            )
        if self.mechanism and self.mechanism not in MECHANISMS:
            raise BindError(
                f"unknown mechanism {self.mechanism!r} of a login",
                f"it can be {', '.join(MECHANISMS)}",
                "write MECHANISM 'SCRAM-SHA-512', for example",
            )

    @classmethod
    def of(
        cls,
        *,
        user: str | None = None,
        password_file: str | Path | None = None,
        password_env: str | None = None,
        ca: str | Path | None = None,
        mechanism: str | None = None,
    ) -> Login:
        """A login from what was given; files are found wherever the job runs."""
        if not user and (password_file or password_env or mechanism):
            raise BindError(
                "a login needs a user",
                "only a password or a mechanism was given",
                "write USER 'name' as well",
            )
        places = [str(Path(path).absolute()) if path else "" for path in (password_file, ca)]
        return cls(user or "", places[0], password_env or "", places[1], (mechanism or "").upper())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Login:
        """Read the JSON form, among other things."""
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

    def as_dict(self) -> dict[str, str]:
        """JSON form: what is not empty."""
        return {name: value for name, value in asdict(self).items() if value}

    def password(self) -> str | None:
        """The password that the file or the environment has now."""
        if self.password_file:
            return first_line(self.password_file)
        if not self.password_env:
            return None
        if self.password_env not in os.environ:
            raise SourceFailure(
                f"the variable {self.password_env!r} is not set",
                "a password should be in it, where the job runs",
                f"set {self.password_env} before the job starts, or name a file with PASSWORD FILE",
            )
        return os.environ[self.password_env]

    def known_password(self) -> str:
        """The password as far as it can be read, to be hidden; else nothing."""
        with suppress(SourceFailure):
            return self.password() or ""
        return ""


NOBODY = Login()
