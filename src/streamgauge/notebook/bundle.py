"""Bundle: one text of a JavaScript module and of those it imports, as widgets want it.

Each module becomes a function that is called once and gives what it exports, so names of one never
meet names of another.
"""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

PAGE = files("streamgauge.server").joinpath("page")
OWN = files("streamgauge.notebook")

_IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def bundle(entry: str) -> str:
    """A module of this folder with all that it imports; what it exports by default is exported.

    >>> bundle("widget.js").splitlines()[0]
    'const dom_js = (() => {'
    """
    texts: dict[str, str] = {}
    _collect(entry, texts)
    wrapped = "".join(_wrapped(name, text) for name, text in texts.items())
    return f"{wrapped}export default {_name(entry)}.widget;\n"


def _collect(name: str, texts: dict[str, str]) -> None:
    """Texts by name, what is imported before what imports it."""
    if name not in texts:
        text = _place(name).read_text(encoding="utf-8")
        for _, imported in _IMPORT.findall(text):
            _collect(imported, texts)
        texts[name] = text


def _place(name: str) -> Traversable:
    own = OWN.joinpath(name)
    return own if own.is_file() else PAGE.joinpath(name)


def _wrapped(name: str, text: str) -> str:
    body = _IMPORT.sub(lambda found: _taken(found[1], found[2]), text)
    exported = [word for _, word in _EXPORT.findall(body)]
    body = _EXPORT.sub(r"\1 \2", body)
    assert not (left := _LEFT.search(body)), f"{name} has a form that is not known: {left}"
    return f"const {_name(name)} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"


def _taken(what: str, name: str) -> str:
    """An import as a constant: `{ a as b }` becomes `{ a: b }`, `* as ns` the module itself."""
    names = what.removeprefix("* as ") if what.startswith("*") else what.replace(" as ", ": ")
    return f"const {names} = {_name(name)};\n"


def _name(module: str) -> str:
    return re.sub(r"\W", "_", module)
