"""Streamgauge: standing queries over live streams, each answer within its stated error.

The folders, in the order data flows::

    kernel      ground: time, errors, columns, the wire format, durable files
    contracts   what is promised: Contract, Guarantee, Answer, Charge
    streams     what a stream is: schema, event time, late policy
    sources     where rows come from: files, captures, the synthetic plant
    synopses    small state for many rows, each with a promise: samples, sketches, histograms
    operators   exact work on rows: predicates, aggregates, latest values
    windows     which part of the stream is alive: panes, rings
    filters     bounds at the sources: who may be how wide, and when a value must be sent
    edge        the light agent beside a source
    coordinator hears the agents and lands their bounds as rows
    plan        queries as values, the registry, sharing, EXPLAIN
    log         the journal, segments, history
    results     answers kept and delivered
    engine      who runs it: shards, the local engine, the reference, the door to Spark
    gauge, cli  what a user holds
    sinks       answers delivered to Kafka and PostgreSQL, each once
    audit       exact shadows beside standing queries, and what they say of the bars
    checks      laws and statistics that every synopsis stands up to, for your own too
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.alerts.watcher import Watcher
    from streamgauge.audit.auditor import Auditor
    from streamgauge.capacity.planning import plan_capacity
    from streamgauge.capacity.workload import Asked
    from streamgauge.contracts.answer import Answer, Charge
    from streamgauge.contracts.contract import Contract
    from streamgauge.contracts.row_change import RowChange
    from streamgauge.control.control_topic import ControlTopic
    from streamgauge.gauge import Gauge, StandingQuery, connect
    from streamgauge.kernel.errors import StreamgaugeError
    from streamgauge.notebook.live import LiveAnswer
    from streamgauge.notebook.plots import plot
    from streamgauge.operators.aggregate import (
        avg,
        corr,
        count,
        count_when,
        covar,
        distinct,
        frequency,
        maximum,
        median,
        minimum,
        quantile,
        self_join,
        stddev,
        sum_when,
        top_k,
        total,
        var,
    )
    from streamgauge.operators.predicate import col
    from streamgauge.plan.members import Members
    from streamgauge.plan.over import Over
    from streamgauge.plan.query import Query, every, on_change, on_close
    from streamgauge.plan.sink import to_kafka, to_postgres
    from streamgauge.reading import Progress
    from streamgauge.repair.check import check_home
    from streamgauge.repair.finding import HomeReport
    from streamgauge.sources.declare import (
        agents,
        dataframe,
        files,
        kafka,
        mqtt,
        plant,
        push,
        rate,
        replay,
    )
    from streamgauge.streams.origin import delta, jdbc
    from streamgauge.streams.schema import Schema
    from streamgauge.streams.stream import Late
    from streamgauge.windows.window import (
        Decay,
        Landmark,
        Latest,
        Now,
        Partition,
        Range,
        Rows,
        Unbounded,
        Window,
    )

# A name is looked for when it is first used: the agent beside a source imports this package on a
# machine without Spark, Arrow or NumPy.
_HOMES = {
    "alerts.watcher": "Watcher",
    "audit.auditor": "Auditor",
    "capacity.planning": "plan_capacity",
    "capacity.workload": "Asked",
    "contracts.answer": "Answer Charge",
    "contracts.contract": "Contract",
    "contracts.row_change": "RowChange",
    "control.control_topic": "ControlTopic",
    "gauge": "Gauge StandingQuery connect",
    "kernel.errors": "StreamgaugeError",
    "notebook.live": "LiveAnswer",
    "notebook.plots": "plot",
    "operators.aggregate": (
        "avg corr count count_when covar distinct frequency maximum median minimum quantile "
        "self_join stddev sum_when top_k total var"
    ),
    "operators.predicate": "col",
    "plan.members": "Members",
    "plan.over": "Over",
    "plan.query": "Query every on_change on_close",
    "plan.sink": "to_kafka to_postgres",
    "reading": "Progress",
    "repair.check": "check_home",
    "repair.finding": "HomeReport",
    "sources.declare": "agents dataframe files kafka mqtt plant push rate replay",
    "streams.origin": "delta jdbc",
    "streams.schema": "Schema",
    "streams.stream": "Late",
    "windows.window": "Decay Landmark Latest Now Partition Range Rows Unbounded Window",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Answer",
    "Asked",
    "Auditor",
    "Charge",
    "Contract",
    "ControlTopic",
    "Decay",
    "Gauge",
    "HomeReport",
    "Landmark",
    "Late",
    "Latest",
    "LiveAnswer",
    "Members",
    "Now",
    "Over",
    "Partition",
    "Progress",
    "Query",
    "Range",
    "RowChange",
    "Rows",
    "Schema",
    "StandingQuery",
    "StreamgaugeError",
    "Unbounded",
    "Watcher",
    "Window",
    "agents",
    "avg",
    "check_home",
    "col",
    "connect",
    "corr",
    "count",
    "count_when",
    "covar",
    "dataframe",
    "delta",
    "distinct",
    "every",
    "files",
    "frequency",
    "jdbc",
    "kafka",
    "maximum",
    "median",
    "minimum",
    "mqtt",
    "on_change",
    "on_close",
    "plan_capacity",
    "plant",
    "plot",
    "push",
    "quantile",
    "rate",
    "replay",
    "self_join",
    "stddev",
    "sum_when",
    "to_kafka",
    "to_postgres",
    "top_k",
    "total",
    "var",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'streamgauge' has no attribute {name!r}")
    found = getattr(import_module(f"streamgauge.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
