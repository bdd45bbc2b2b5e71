"""Who may do what: tokens and roles, requests a second, sizes, and who calls from where."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamgauge.coordinator.tokens import Tokens
from streamgauge.kernel.errors import BindError
from streamgauge.server.page import PATHS
from streamgauge.server.problems import Problems, Refused
from streamgauge.server.settings import Settings

ROLES = ("reader", "author", "admin", "functions", "operator")
# Served to whoever asks: whether the server is well, what it can do, and the page.
OPEN = frozenset(("/health", "/v1/openapi.json")) | PATHS
BURST = 2.0
MOST_PACES = 10_000
SAFE = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, by the name beside its token, and what it may do."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this role reaches another.

        >>> Caller("ops", "author").may("reader"), Caller("ops", "author").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)

    def need(self, role: str) -> None:
        """Raise unless it reaches a role."""
        if not self.may(role):
            if self == ANYONE:
                raise _unknown(f"this needs the role {role}, and requests without a token may read")
            raise Refused(
                f"this needs the role {role}",
                f"the token of {self.name!r} is good for {self.role}",
                f"ask whoever keeps the file of tokens for one with {role}",
                status=403,
            )


# Who shows no token on a server without a file of tokens: reads, and changes nothing.
ANYONE = Caller("anyone", "reader")


def _unknown(detail: str) -> Refused:
    return Refused(
        "this needs a token",
        detail,
        "send Authorization: Bearer TOKEN; `streamgauge token --home DIR` prints the token of "
        "a data directory, other tokens are in the server's file",
        status=401,
        headers={"WWW-Authenticate": "Bearer"},
    )


@dataclass(frozen=True, slots=True)
class Keys:
    """Tokens with who they belong to, and who a request without one comes from.

    Examples
    --------
    >>> keys = Keys((("0123456789", Caller("wall", "reader")),))
    >>> keys.caller("0123456789"), keys.caller("guess")
    (Caller(name='wall', role='reader'), None)
    """

    known: tuple[tuple[str, Caller], ...]
    stranger: Caller | None = None

    @classmethod
    def owner(cls, token: str) -> Keys:
        """One token that is good for everything; whoever shows none may read."""
        return cls(((token, Caller("owner", "operator")),), ANYONE)

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Read a file of lines `token role [name]`."""
        lines = Tokens.read(path).known or ()
        found = []
        for number, (token, words) in enumerate(lines, 1):
            if not words or words[0] not in ROLES or len(words) > 2:
                raise BindError(
                    f"token {number} of {path.name} has no role",
                    f"after it comes {' '.join(words)!r}; roles are {', '.join(ROLES)}",
                    "write lines: token role [name]",
                )
            name = words[1] if len(words) > 1 else f"token {number}"
            found.append((token, Caller(name, words[0])))
        return cls(tuple(found))

    def caller(self, shown: str | None) -> Caller | None:
        """Whose token it is; looking takes equally long whichever it is."""
        if shown is None:
            return self.stranger
        told = shown.encode("utf-8", "replace")
        found = None
        for token, caller in self.known:
            if hmac.compare_digest(token.encode(), told):
                found = caller
        return found


class Pace:
    """How fast each caller may ask: so many a second, twice as many at once.

    Examples
    --------
    >>> pace = Pace(1.0, clock=lambda: 0.0)
    >>> [pace.wait("wall") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self.clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Count a request; seconds to wait when it is one too many."""
        most, now = max(self.rate * BURST, 1.0), self.clock()
        left, since = self._left.get(name, (most, now))
        left = min(most, left + (now - since) * self.rate)
        if left < 1.0:
            self._left[name] = (left, now)
            return (1.0 - left) / self.rate
        if name not in self._left and len(self._left) >= MOST_PACES:
            self._left.clear()
        self._left[name] = (left - 1.0, now)
        return 0.0


class Gate:
    """Stands before all routes: lets in who may come, takes bodies whole or not at all.

    The path is handed on as it was sent, with its escapes, so that a name may hold any sign;
    `Name` decodes it once it is known to be a name.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        keys: Keys,
        problems: Problems,
        roles: Roles = (),
    ) -> None:
        self.app = app
        self.settings = settings
        self.keys = keys
        self.problems = problems
        self.roles = roles
        # Bytes of all bodies that are here or on their way.
        self.held = 0
        limited = settings.tokens is not None and settings.rate is not None
        self.pace = Pace(settings.rate or 1.0) if limited else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        guarded = _with_headers(send)
        raw = scope.get("raw_path") or scope["path"].encode()
        scope = {**scope, "path": raw.partition(b"?")[0].decode("latin-1")}
        headers = Headers(scope=scope)
        share = Share(self)
        try:
            self._check_origin(scope, headers)
            scope["caller"] = caller = self._caller(scope["path"], headers)
            # Nothing of a body is read for whoever may not send it.
            caller.need(role_needed(self.roles, scope["method"], scope["path"]))
            body = await self._body(headers, receive, caller, share)
            if body is not None:
                await self.app(scope, _replayed(body, receive), guarded)
        except Refused as error:
            await self.problems.response(error)(scope, receive, guarded)
        finally:
            share.release()

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """Refuse pages of other sites, which a browser would let act in its user's name."""
        host = headers.get("host", "")
        if self.settings.hosts is not None and _host_name(host) not in self.settings.hosts:
            raise Refused(
                "this server does not go by that name",
                f"the request is for {host[:100]!r}",
                f"ask for {self.settings.hosts[0]}; other names need a file of tokens",
                status=421,
            )
        origin = headers.get("origin")
        if scope["method"] in SAFE or origin is None:
            return
        if _netloc(origin) != host:
            raise Refused(
                "pages of other sites change nothing here",
                f"the request comes from a page of {origin[:100]!r}",
                "send it from a program, or from a page of this server",
                status=403,
            )

    def _caller(self, path: str, headers: Headers) -> Caller:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        caller = self.keys.caller(token.strip() if scheme.lower() == "bearer" else None)
        if caller is None:
            if path in OPEN:
                return Caller("nobody", "reader")
            raise _unknown("the header Authorization: Bearer is missing or has another token")
        wait = self.pace.wait(caller.name) if self.pace is not None else 0.0
        if wait > 0.0:
            raise Refused(
                "too many requests",
                f"{caller.name!r} may send {self.settings.rate:g} a second",
                "wait as long as Retry-After says, or use the live feed",
                status=429,
                retry=wait,
            )
        return caller

    async def _body(
        self, headers: Headers, receive: Receive, caller: Caller, share: Share
    ) -> bytes | None:
        """The whole body; None when the client went away."""
        limit = self.settings.body_seconds
        most = self.settings.max_body
        if not caller.may("author"):
            # Readers send statements and drafts of queries, never rows.
            most = min(most, self.settings.max_text)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise _too_large(most)
        share.grow(int(length))
        try:
            async with asyncio.timeout(limit):
                return await _read(receive, most, share)
        except TimeoutError:
            raise Refused(
                "a request that comes too slowly",
                f"not here within {limit:g} s",
                "send smaller bodies, or look at the network",
                status=408,
            ) from None


class Share:
    """What one request takes of the memory for all bodies."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.size = 0

    def grow(self, size: int) -> None:
        """Take as much as a body of this size needs, or refuse the request."""
        more = max(0, size - self.size)
        if self.gate.held + more > self.gate.settings.max_bodies:
            raise Refused(
                "too many requests are being received",
                f"{self.gate.held + more} bytes of bodies, at most {self.gate.settings.max_bodies}",
                "wait as long as Retry-After says and send it again",
                status=503,
                retry=1.0,
            )
        self.gate.held += more
        self.size += more

    def release(self) -> None:
        """Give it back."""
        self.gate.held -= self.size
        self.size = 0


Roles = Sequence[tuple[frozenset[str], re.Pattern[str], str]]


def role_needed(roles: Roles, method: str, path: str) -> str:
    """The role that a route needs; paths that no route has are for readers."""
    found = (role for methods, shape, role in roles if method in methods and shape.match(path))
    return next(found, "reader")


def roles_of(routes: Iterable[BaseRoute], prefix: str) -> list[tuple[Any, ...]]:
    """Which role each route needs, by method and path."""
    found: list[tuple[Any, ...]] = []
    for route in routes:
        if isinstance(route, APIRoute):
            named = [getattr(one.call, "role", None) for one in route.dependant.dependencies]
            role = next((role for role in named if role is not None), "reader")
            shape, _, _ = compile_path(prefix + route.path)
            found.append((frozenset(route.methods or ()), shape, role))
    return found


async def _read(receive: Receive, most: int, share: Share) -> bytes | None:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        share.grow(size)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(
        "the body of the request is too large",
        f"more than {most} bytes",
        "send it in smaller parts",
        status=413,
    )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give a body that is here already, then what else comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


_bearer = HTTPBearer(auto_error=False, description="A token of the server's file.")


def needs(role: str) -> Any:
    """A dependency of routes: refuse callers whose role does not reach `role`."""

    # A dependency that is no coroutine would be run in a thread of its own.
    async def check(request: Request, _shown: Annotated[Any, Depends(_bearer)]) -> Caller:
        caller: Caller = request.scope["caller"]
        caller.need(role)
        return caller

    check.role = role  # type: ignore[attr-defined]
    return Depends(check)


Reader = Annotated[Caller, needs("reader")]
Author = Annotated[Caller, needs("author")]
Admin = Annotated[Caller, needs("admin")]


def decoded(name: str) -> str:
    """A name as it was before it became a part of a path.

    >>> decoded("a%2Fb")
    'a/b'
    """
    return unquote(name)


async def _name(name: str) -> str:
    return decoded(name)


Name = Annotated[str, Depends(_name)]
