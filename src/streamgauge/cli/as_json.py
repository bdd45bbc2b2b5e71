"""JSON instead of text, where a command is asked for it."""

from __future__ import annotations

import json
from typing import Any

import click

_JSON = "streamgauge.json"


def _remember(ctx: click.Context, _option: click.Parameter, value: bool) -> bool:
    ctx.meta[_JSON] = value
    return value


# Eager, so that an error in any other argument is told as JSON too.
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    is_eager=True,
    callback=_remember,
    help="One JSON document instead of text; errors too.",
)


def wants_json(ctx: click.Context) -> bool:
    """Whether the command that ran was asked for JSON."""
    return bool(ctx.meta.get(_JSON, False))


def say_json(value: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
