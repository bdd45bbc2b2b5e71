"""Registry: Avro schemas by number, asked for once each over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from streamgauge.kernel.errors import SourceFailure

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
        with urllib.request.urlopen(address, timeout=ASK_SECONDS) as reply:
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
