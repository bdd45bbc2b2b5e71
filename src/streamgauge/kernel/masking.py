"""Texts without the passwords that addresses in them hold."""

from __future__ import annotations

import re

REFERENCE = re.compile(r"\{(env|file):([^{}]+)\}")
# A colon before a port is none before a password.
_LOGIN = re.compile(r"(://[^\s'\":@/]*):(?!\d+[/?,])([^\s'\"]*)@")
_BARE = re.compile(r"(?<![\w/])([\w.-]+):(?!//)[^\s'\",/@]+@(?=[\w.-]+:\d)")
_WORDS = r"pass(?:word|wd|phrase)?|pwd|secret|token|sig(?:nature)?|(?:api|access|account)[_.-]?key"
_PARAMETER = re.compile(
    rf"([?&;][\w.-]*(?:{_WORDS})[\w.-]*=|\bpassword=(?=\"))\"?(?!\{{(?:env|file):)[^\s&;'\"#]+",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """A text without the passwords in its addresses; references to secrets stay.

    >>> masked("cannot reach mqtt://ann:hush@host/t?token=abc&x=1")
    'cannot reach mqtt://ann:***@host/t?token=***&x=1'
    >>> masked("mqtt://ann:{env:BROKER_PASSWORD}@host")
    'mqtt://ann:{env:BROKER_PASSWORD}@host'
    """
    if "@" in text:
        text = _BARE.sub(r"\1:***@", _LOGIN.sub(_login, text))
    return _PARAMETER.sub(r"\1***", text) if "=" in text else text


def _login(found: re.Match[str]) -> str:
    return found[0] if REFERENCE.fullmatch(found[2]) else f"{found[1]}:***@"
