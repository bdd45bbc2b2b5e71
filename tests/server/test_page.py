"""The page's own files: what is served, to whom, under which headers, and nothing else."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from streamgauge.server.page import FILES, FOLDER, KINDS, PATHS, POLICY
from streamgauge.server.serving import Server
from tests.server.conftest import problem

pytestmark = pytest.mark.slow

PACKAGE = FOLDER.parent
# Ways out of the folder that servers have fallen for, as they go over the wire.
TRICKS = (
    "/page/../app.py",
    "/page/..%2fapp.py",
    "/page/%2e%2e/app.py",
    "/page/%2e%2e%2fapp.py",
    "/page/..%252fapp.py",
    "/page/....//app.py",
    "/page/..\\app.py",
    "/page/..%5capp.py",
    "/page/%00",
    "/page/index.html%00.js",
    "/page/main.js/",
    "/page/main.js/../../app.py",
    "/page//etc/passwd",
    "/page/%2fetc%2fpasswd",
    "/page/.",
    "/page/",
    "/page",
    "/page/MAIN.JS",
    "/page/main.js%20",
    "/page/__init__.py",
    "/page/__pycache__",
    "//page/main.js",
    "/../app.py",
    "/app.py",
)


@pytest.fixture
def raw(served: Server) -> Iterator[Callable[[str, str], tuple[int, str]]]:
    """Ask for a path as it is, which most clients would tidy up first."""
    host, _, port = served.address.partition("://")[2].rpartition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:

        def ask(path: str, method: str = "GET") -> tuple[int, str]:
            connection.putrequest(method, path)
            connection.endheaders()
            response = connection.getresponse()
            return response.status, response.read().decode()

        yield ask


def test_all_files_of_the_page_are_served_with_their_headers(client: httpx.Client) -> None:
    assert {"index.html", "main.js", "style.css", "icon.svg"} <= set(FILES)
    for path in sorted(PATHS):
        given = client.get(path)
        assert given.status_code == 200, path
        name = path.rpartition("/")[2] or "index.html"
        assert given.content == (FOLDER / name).read_bytes()
        assert given.headers["content-type"] == KINDS[Path(name).suffix]
        assert given.headers["content-security-policy"] == POLICY
        assert given.headers["x-content-type-options"] == "nosniff"
        assert given.headers["x-frame-options"] == "DENY"
        assert given.headers["referrer-policy"] == "no-referrer"
        assert not [header for header in given.headers if header.startswith("access-control")]


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    rules = {words[0]: words[1:] for words in map(str.split, POLICY.split(";"))}
    assert rules["default-src"] == ["'none'"]
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == ["'self'"]
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert "unsafe" not in POLICY
    assert "*" not in POLICY


def test_the_page_keeps_to_its_policy() -> None:
    """What a browser would refuse, or what makes markup of a name, is not written at all."""
    for name, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        elsewhere = re.findall(r"""(?:src|href|from|url\(|import)[\s=("']+(?:https?:)?//""", text)
        assert not elsewhere, f"{name} loads from another site"
        if path.suffix == ".js":
            for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
                assert sink not in text, f"{name} makes markup of text by {sink}"
            assert "console." not in text, f"{name} writes to the console"
        if path.suffix in (".html", ".svg"):
            assert not re.search(r"\s(on\w+|style)=", text), f"{name} has a handler or style inline"
            assert not re.search(r"<script(?![^>]*\ssrc=)", text), f"{name} has a script inline"


def test_what_the_page_asks_for_is_there() -> None:
    given = {name: exports(path) for name, path in FILES.items() if path.suffix == ".js"}
    for name, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        for wanted in re.findall(r"""(?:href|src)=["']page/([^"']+)["']""", text):
            assert wanted in FILES, f"{name} wants {wanted}"
        for wanted in re.findall(r"""(?:from|import)\s*\(?["']\./([^"']+)["']""", text):
            assert wanted in FILES, f"{name} imports {wanted}"
        for names, wanted in re.findall(r"""import \{([^}]*)\} from ["']\./([^"']+)["']""", text):
            for one in filter(None, map(str.strip, names.split(","))):
                assert one.split(" as ")[0] in given[wanted], f"{name}: {one} of {wanted}"


def exports(path: Path) -> set[str]:
    """What a module gives to others."""
    text = path.read_text(encoding="utf-8")
    declared = re.findall(r"^export (?:async )?(?:function|class|const|let) (\w+)", text, re.M)
    listed = [
        name
        for names in re.findall(r"^export \{([^}]*)\}", text, re.M)
        for name in names.split(",")
    ]
    return {*declared, *(name.split(" as ")[-1].strip() for name in listed)}


def test_path_tricks_reach_no_file(raw: Callable[[str, str], tuple[int, str]]) -> None:
    code = (PACKAGE / "app.py").read_text(encoding="utf-8")[:60]
    for path in TRICKS:
        for method in ("GET", "POST", "PUT"):
            status, text = raw(path, method)
            assert status in (404, 405), f"{method} {path}: {status}"
            told = json.loads(text)
            assert told["hint"], path
            assert str(PACKAGE) not in text
            assert code not in text


def test_no_file_of_the_package_is_served(client: httpx.Client) -> None:
    strangers = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.parent != FOLDER
    ]
    assert "app.py" in strangers
    for name in strangers:
        problem(client.get(f"/page/{name}"), 404)
        problem(client.get(f"/{name}"), 404)


def test_everybody_may_have_the_page_and_nothing_behind_it(
    guarded: Callable[..., httpx.Client],
) -> None:
    stranger = guarded(None)
    for path in ("/", "/page/main.js", "/page/style.css"):
        assert stranger.get(path).status_code == 200, path
    for path in ("/page/app.py", "/page/..%2fapp.py", "/v1/about", "/v1/board", "/v1/epochs"):
        problem(stranger.get(path), 401)


def test_a_browser_asks_again_before_it_uses_what_it_kept(client: httpx.Client) -> None:
    first = client.get("/page/main.js")
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    again = client.get("/page/main.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    assert again.headers["content-security-policy"] == POLICY
    assert client.get("/page/main.js", headers={"If-None-Match": '"old"'}).status_code == 200


def test_the_head_of_a_file_is_that_of_the_file(client: httpx.Client) -> None:
    for path in ("/", "/page/style.css"):
        head, whole = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        for header in ("content-type", "content-length", "etag", "content-security-policy"):
            assert head.headers[header] == whole.headers[header]
