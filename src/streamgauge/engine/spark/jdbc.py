"""Databases: rows of a table or a query, read by Spark's own JDBC source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from streamgauge.engine.spark.jars import needed_jars
from streamgauge.kernel.errors import SourceFailure, StreamgaugeError
from streamgauge.kernel.login import Login
from streamgauge.streams.origin import DRIVERS, Origin

HIDDEN = "(hidden)"
# A database that has gone silent ends the reading, not the patience; an address may say otherwise.
WAITS = {"postgresql": {"connectTimeout": "10", "loginTimeout": "10", "socketTimeout": "300"}}
# What SQL states begin with, and what to do then.
_HINTS = (
    ("28", "refused the login", "check USER, and the password in the file or variable you named"),
    ("3D", "has no such database", "check the name after the last / of the address"),
    ("42", "refused the question", "check the name after TABLE, or the text after QUERY"),
    ("08", "cannot be reached", "check host and port of the address, and that the database runs"),
)
_NO_DRIVER = ("No suitable driver", "ClassNotFoundException")


def read_jdbc(session: SparkSession, origin: Origin) -> pa.Table:
    """All rows of a table or a query, as Arrow."""
    password = Login.from_dict(dict(origin.options)).password()
    try:
        _lend_driver(session, origin)
        options = _options(origin, password)
        return session.read.format("jdbc").options(**options).load().toArrow()
    except (PySparkException, Py4JError) as error:
        raise _told(origin, error, password) from None


def _kind(origin: Origin) -> str:
    return origin.place.split(":")[1]


def _driver(origin: Origin) -> str:
    return origin.option("driver") or DRIVERS[_kind(origin)]


def _options(origin: Origin, password: str | None) -> dict[str, str]:
    table, query = origin.option("table"), origin.option("query")
    asked = {"url": origin.place, "driver": _driver(origin), "dbtable": table, "query": query}
    asked |= {"user": origin.option("user"), "password": password}
    # A time without a zone is UTC, wherever this runs.
    asked |= {"preferTimestampNTZ": "true", **WAITS.get(_kind(origin), {})}
    return {name: value for name, value in asked.items() if value is not None}


def _lend_driver(session: SparkSession, origin: Origin) -> None:
    """Let this thread, and the executors, find the driver: a session may be older than its jar."""
    jvm: Any = session._jvm
    loader = session._jsparkSession.sharedState().jarClassLoader()
    jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)
    try:
        loader.loadClass(_driver(origin))
    except Py4JJavaError:
        if _kind(origin) in DRIVERS:
            for jar in needed_jars(_kind(origin)):
                session.sql(f"ADD JAR '{jar}'")


def _told(origin: Origin, error: Exception, password: str | None) -> StreamgaugeError:
    """The error of a database in three parts, without Java's and without secrets."""
    said = list(_reasons(error))
    if any(word in f"{kind} {text}" for kind, text, _ in said for word in _NO_DRIVER):
        return SourceFailure(
            f"the driver {_driver(origin)} is not here",
            f"Spark needs it to read {origin.place}",
            f"fetch it with: streamgauge jars {_kind(origin)}"
            if _kind(origin) in DRIVERS
            else "name its jar in the setting spark.jars",
        )
    detail = next((text for kind, text, _ in said if "SQL" in kind), said[-1][1] if said else "")
    state = next((state for _, _, state in said if state), "")
    known = [(what, hint) for begin, what, hint in _HINTS if state.startswith(begin)]
    what, hint = known[0] if known else ("could not be read", "see the log of the database")
    detail = re.sub(r"\s+", " ", detail or type(error).__name__).strip()[:300]
    if password:
        detail = detail.replace(password, HIDDEN)
    return SourceFailure(f"the database {what}: {origin}", detail, hint)


def _reasons(error: Exception) -> Iterator[tuple[str, str, str]]:
    """Class, message and SQL state of a Java error and of what caused it."""
    java: Any = None
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
    elif isinstance(error, CapturedException):
        java = error._origin
    if java is None:
        yield type(error).__name__, str(error).partition("\n")[0], ""
    while java is not None:
        kind = str(java.getClass().getName())
        state = str(java.getSQLState() or "") if kind.endswith("SQLException") else ""
        yield kind, str(java.getMessage() or ""), state
        java = java.getCause()
