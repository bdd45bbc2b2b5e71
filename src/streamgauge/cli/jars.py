"""The command `jars`: fetch a connector of Spark once, by name."""

from __future__ import annotations

import click

from streamgauge.engine.spark.jars import CONNECTORS, connector_jars, fetch


@click.command(short_help="Fetch a connector of Spark, once.")
@click.argument("connector", type=click.Choice(list(CONNECTORS)), required=False)
@click.option("--nearest", is_flag=True, help="Take older jars where this release has none.")
def jars(connector: str | None, nearest: bool) -> None:
    """Fetch the jars of a CONNECTOR into the cache of this user; without one, list what is here.

    A session that starts afterwards takes them along. Maven fetches them where it is there, else
    Spark does.
    """
    if connector is None:
        for name in CONNECTORS:
            found = connector_jars(name)
            click.echo(f"{name}: {'not fetched' if found is None else found[0].parent}")
        return
    for jar in fetch(connector, nearest=nearest, tell=lambda line: click.echo(line, err=True)):
        click.echo(jar)
