"""Secrets in addresses and options: refused where they would be stored, named by reference.

`{env:NAME}` stands for a variable of the environment and `{file:PATH}` for the first line of a
file. A reference is stored as it is written, and read each time that the address is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, unquote

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.masking import REFERENCE

_WORDS = frozenset(
    ("password", "passwd", "pwd", "pass", "passphrase", "secret", "token", "apikey", "credential",
     "credentials", "signature", "sig", "jaas", "auth", "authorization")
)  # fmt: skip
_BEFORE_KEY = frozenset(("api", "access", "account", "private", "shared", "secret", "keystore"))
_ENDINGS = ("password", "passwd", "secret", "apikey", "token", "accesskey")
# The last word of a setting that only says where or how.
_HARMLESS = frozenset(("class", "mechanism", "location", "type", "url", "protocol", "file", "env"))
_PARAMETER = re.compile(r"[?&;]([^=&;#\s]+)=([^&;#\s]*)")
_RANDOM = re.compile(r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[A-Za-z0-9_.~-]{16,}")
REMEDY = "write {env:NAME} or {file:PATH} in its place; it is read when it is used"


def references(text: str) -> list[tuple[str, str]]:
    """Which variables and files a text refers to.

    >>> references("mqtt://ann:{env:BROKER_PASSWORD}@host")
    [('env', 'BROKER_PASSWORD')]
    """
    return [(found[1], found[2]) for found in REFERENCE.finditer(text)]


def shape(text: str) -> str:
    """A text with a letter for each reference, so that the parts of an address can be told.

    >>> shape("mqtt://ann:{file:/run/secrets/broker}@host")
    'mqtt://ann:x@host'
    """
    return REFERENCE.sub("x", text)


def resolved(text: str, *, url: bool = False) -> str:
    """A text with its references replaced by what they stand for now; escaped for a URL.

    In the path of a URL a value may hold slashes: the secret of a webhook may be `T0/B0/key`.

    >>> resolved("plain")
    'plain'
    """
    plain = REFERENCE.sub(lambda found: "x" * len(found[0]), text)
    host = plain.find("://") + len("://")
    ends = [plain.find(mark, host) for mark in "/?#"]
    path, query = (end if end >= 0 else len(text) for end in (ends[0], max(ends[1], ends[2])))

    def value(found: re.Match[str]) -> str:
        said = _variable(found[2]) if found[1] == "env" else first_line(found[2])
        in_path = path < found.start() < query
        return quote(said, safe="/:%" if in_path else "") if url else said

    return REFERENCE.sub(value, text)


def known_secrets(text: str) -> list[str]:
    """What the references of a text stand for now, as far as it can be read, to be hidden."""
    found = []
    for kind, name in references(text):
        with suppress(SourceFailure):
            found.append(_variable(name) if kind == "env" else first_line(name))
    return [value for value in found if value]


def _variable(name: str) -> str:
    if name not in os.environ:
        raise SourceFailure(
            f"the variable {name!r} is not set",
            "a secret should be in it, where the job runs",
            f"set {name} before the job starts, or name a file with {{file:PATH}}",
        )
    return os.environ[name]


def first_line(path: str) -> str:
    """The first line of a file, which is how a secret is kept."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceFailure(
            "cannot read the file of a password",
            f"{path}: {getattr(error, 'strerror', None) or 'it is not text'}",
            "check the path of the file and its permissions",
        ) from None
    return lines[0] if lines else ""


def refuse_secret(address: str, what: str, instead: str = REMEDY, *, path: bool = False) -> None:
    """Raise BindError when an address holds a secret that would be stored.

    Parameters
    ----------
    address
        A URL. A password in it, or a parameter that sounds like one, is a secret.
    what
        What the address is of, for the message.
    instead
        What to write instead.
    path
        Whether a part of the path that looks random is a secret too, as in webhooks.

    Examples
    --------
    >>> refuse_secret("postgresql://ann@db/plant?sslmode=require", "a database")
    >>> refuse_secret("postgresql://ann:{env:PLANT_PASSWORD}@db/plant", "a database")
    >>> refuse_secret("postgresql://ann:hush@db/plant", "a database")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: the address of a database holds a password
      detail: it would be stored in the journal, with postgresql://db
      hint: write {env:NAME} or {file:PATH} in its place; it is read when it is used
    """
    plain = REFERENCE.sub("", address)
    kind = secret_kind(plain, path=path)
    if kind is not None:
        scheme, _, rest = address.partition("://")
        host = re.split(r"[/?#]", rest.rpartition("@")[2], maxsplit=1)[0]
        detail = f"it would be stored in the journal, with {scheme}://{host}"
        raise BindError(f"the address of {what} holds {kind}", detail, instead)


def secret_kind(address: str, *, path: bool = False) -> str | None:
    """What kind of secret an address holds; None where there is none."""
    head = re.split(r"[?#]", address.partition("://")[2], maxsplit=1)[0]
    login, at, _ = head.rpartition("@")
    if at and login.partition(":")[2]:
        return "a password"
    for name, value in _PARAMETER.findall(address):
        if value and sounds_secret(unquote(name)):
            return f"a secret, {unquote(name)}"
    if path and any(_RANDOM.fullmatch(part) for part in head.partition("/")[2].split("/")):
        return "a part that looks like a secret"
    return None


def sounds_secret(name: str) -> bool:
    """Whether an option is a secret, by its name.

    >>> names = ("kafka.sasl.jaas.config", "sslpassword", "fs.s3a.secret.key", "accessKey")
    >>> all(map(sounds_secret, names))
    True
    >>> any(map(sounds_secret, ("sslmode", "design", "ssl.keystore.location", "author")))
    False
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    if not words or words[-1] in _HARMLESS:
        return False
    keys = (one for one, two in pairwise(words) if two in ("key", "keys") and one in _BEFORE_KEY)
    return any(word in _WORDS or word.endswith(_ENDINGS) for word in words) or any(keys)


def refuse_options(options: Mapping[str, object], what: str) -> None:
    """Raise BindError when an option holds a secret that would be stored."""
    for name, value in options.items():
        if sounds_secret(name) and REFERENCE.sub("", str(value)).strip() and not _only(str(value)):
            raise BindError(
                f"option {name!r} of {what} holds a secret",
                "it would be stored in the journal",
                f"{REMEDY}: {name!r}: '{{env:NAME}}'",
            )


def _only(value: str) -> bool:
    """Whether all that varies in a value is a reference, as the password in a line of JAAS is."""
    quoted = re.findall(r"\bpassword\s*=\s*[\"']?([^\"';]*)", value, re.IGNORECASE)
    return bool(quoted) and all(REFERENCE.fullmatch(one.strip()) for one in quoted)
