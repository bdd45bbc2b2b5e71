"""Registry: Avro schemas by number, asked for once each over HTTP."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.secrets import resolved

ASK_SECONDS = 10.0


def registered_schema(registry: str, number: int) -> Any | None:
    """The schema of a number; None when the registry says that there is none.

    A registry that does not answer raises SourceFailure: the records are sound, for all one knows,
    and are read again later.
    """
    try:
        return _asked(registry.rstrip("/"), number)
    except LookupError:
        return None


@lru_cache(maxsize=1_000)
def _asked(registry: str, number: int) -> Any:
    """A number never gets another schema; that there is none is not remembered."""
    address = f"{registry}/schemas/ids/{number}"
    try:
        # The scheme is checked where the request is made.
        with urllib.request.urlopen(_request(address), timeout=ASK_SECONDS) as reply:  # noqa: S310  # nosec B310
            return json.loads(json.loads(reply.read())["schema"])
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.NOT_FOUND:
            raise LookupError(number) from None
        raise _silent(address, f"it answers {error.code}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _silent(address, str(error)) from None


def _silent(address: str, said: str) -> SourceFailure:
    return SourceFailure(
        f"the schema registry does not tell {address}",
        said,
        "start it, or correct REGISTRY; the records wait meanwhile",
    )


def _request(address: str) -> urllib.request.Request:
    """A request with the login of an address as its header; secrets are read now."""
    parts = urlsplit(resolved(address, url=True))
    if parts.scheme not in ("http", "https"):
        # urllib would open files too.
        raise _silent(address, f"its scheme is {parts.scheme!r}, not http or https")
    host = parts.netloc.rpartition("@")[2]
    whole = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    made = urllib.request.Request(whole)  # noqa: S310
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        made.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
    return made
