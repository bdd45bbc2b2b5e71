"""The page that people look at: files of this package, served as they are."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.responses import FileResponse

from streamgauge.server.problems import Refused

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FILES = {path.name: path for path in sorted(FOLDER.iterdir()) if path.suffix in KINDS}
# Where the page and its files are: they hold no data, so whoever comes may have them.
PATHS = frozenset(("/", *(f"/page/{name}" for name in FILES)))
# Scripts, styles and connections of this server alone; no frame, no form that leads elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@router.get("/")
@router.head("/")
def index(request: Request) -> Response:
    """The page."""
    return _file("index.html", request)


@router.get("/page/{name}")
@router.head("/page/{name}")
def file(name: str, request: Request) -> Response:
    """One of its files; a name that is none of theirs never becomes a path."""
    return _file(name, request)


def _file(name: str, request: Request) -> Response:
    if name not in FILES:
        raise Refused(
            "the page has no such file",
            f"got {name[:100]!r}",
            "open / instead",
            status=404,
        )
    path = FILES[name]
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
    given = FileResponse(
        path, media_type=KINDS[path.suffix], headers=headers, stat_result=path.stat()
    )
    if request.headers.get("if-none-match") == given.headers["etag"]:
        return Response(status_code=304, headers={**headers, "ETag": given.headers["etag"]})
    return given
