"""Statements that ask: from a query with its terms to what is registered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streamgauge.execute.names import changed, members, parts_of
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.hashing import stable_hash
from streamgauge.language.render import render
from streamgauge.language.statements import Ask, CreateQuery, Select, Statement
from streamgauge.operators.expression import Expr, column, conjunction, conjuncts, literal
from streamgauge.plan import lower
from streamgauge.plan.preferring import windowed
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View


def name_of(ask: Ask) -> str:
    """A name made from a question: the same for the same question, however it is spaced."""
    return f"q{stable_hash(render(ask)) % 16**8:08x}"


def planned(registry: Registry, name: str, ask: Ask) -> list[Query | View]:
    """What a question is registered as: queries of numbers, one per aggregate, or one view."""
    ask = windowed(ask)
    found = lower.planned(name, ask, registry)
    if isinstance(found, View):
        return [replace(found, text=render(Ask(ask.query)))]
    return list(found)


def ask(trial: Trial, said: Ask, name: str | None) -> Outcome:
    """SELECT: register it under a name, or under one made from the question.

    The same question asked again without a name is the same query.
    """
    queries = planned(trial.registry, name or name_of(said), said)
    names = tuple(query.name for query in queries)
    if name is None and all(_stands(trial, query) for query in queries):
        return Outcome("unchanged query", names)
    _check_free(trial, names)
    trial.register(queries)
    return Outcome("registered", names)


def create_query(trial: Trial, said: CreateQuery, *, replace: bool = False) -> Outcome:
    """CREATE QUERY and ALTER QUERY, with FOR EACH one query per value."""
    asks = _each(said) if said.each else [(said.name, said.ask)]
    queries = [query for name, part in asks for query in planned(trial.registry, name, part)]
    names = tuple(query.name for query in queries)
    if not (said.replace or replace):
        _check_free(trial, names)
        trial.register(queries)
        return Outcome("registered", names)
    return _replaced(trial, said, queries)


def _replaced(trial: Trial, said: CreateQuery, queries: list[Query | View]) -> Outcome:
    """Bring the queries of one name to a new form: some altered, some new, some gone."""
    names = tuple(query.name for query in queries)
    family = _family(trial.registry, said.name)
    if said.replace and not family:
        trial.registry.query(said.name)
    _check_free(trial, names)
    fresh = [query for query in queries if query.name not in family]
    new = [q for q in queries if q.name in family and not _stands(trial, q)]
    gone = [name for name in family if name not in names]
    trial.register(fresh)
    trial.alter(new)
    if gone:
        trial.apply({"do": "drop", "names": gone})
    if not (fresh or new or gone):
        return Outcome("unchanged query", names)
    return Outcome("registered" if len(fresh) == len(queries) else "altered", names)


def _family(registry: Registry, name: str) -> tuple[str, ...]:
    parts = (q for q in registry.queries if q.startswith((f"{name}.", f"{name}[")))
    return members(registry, name) if name in registry.queries else tuple(parts)


def _stands(trial: Trial, query: Query | View) -> bool:
    standing = trial.standing(query.name)
    return standing is not None and standing.asked == query


def _check_free(trial: Trial, names: tuple[str, ...]) -> None:
    for name in names:
        trial.free("query", name)


def _each(said: CreateQuery) -> list[tuple[str, Ask]]:
    """One question per value, named `name[value]`."""
    if len(set(said.values)) < len(said.values):
        twice = next(value for value in said.values if said.values.count(value) > 1)
        raise BindError(
            f"FOR EACH {said.each} names {twice!r} twice",
            f"{len(said.values)} values, {len(set(said.values))} different",
            "name each value once",
        )
    if None in said.values:
        raise BindError(
            f"FOR EACH {said.each} names NULL, which equals nothing",
            f"it is one of {len(said.values)} values",
            f"leave it out; WHERE {said.each} IS NULL is a query of its own",
        )
    asked = _parameters(said.ask)
    if unknown := sorted(asked - {said.each}):
        raise BindError(
            f"${unknown[0]} has no value",
            f"FOR EACH gives ${said.each}",
            f"write ${said.each}, or FOR EACH {unknown[0]}",
        )
    put = _put if asked else _filtered
    return [(f"{said.name}[{value}]", put(said.ask, said.each, value)) for value in said.values]


def _parameters(said: Statement) -> set[str]:
    parts = (part for part in parts_of(said) if isinstance(part, Expr))
    return {str(part.value) for part in parts if part.op == "parameter"}


def _put(ask: Ask, name: str, value: Any) -> Ask:
    """The question with a value wherever its parameter stands."""

    def change(part: Expr) -> Expr | None:
        return literal(value) if part.op == "parameter" else None

    found: Ask = changed(ask, change)
    return found


def _filtered(ask: Ask, name: str, value: Any) -> Ask:
    """The question about the rows of one value, where no parameter says so itself."""
    if not isinstance(ask.query, Select):
        raise BindError(
            f"FOR EACH {name} has no place in this query",
            "only a plain SELECT gets its filter by itself",
            f"write ${name} where the value belongs, such as WHERE {name} = ${name}",
        )
    test = Expr("=", (column(name), literal(value)))
    where = conjunction((*conjuncts(ask.query.where), test))
    return replace(ask, query=replace(ask.query, where=where))


def check_parameters(said: Statement, text: str) -> None:
    """Raise when a question has a parameter that nothing gives a value."""
    # Looking through thousands of statements takes longer than looking for the sign.
    if "$" not in text or (isinstance(said, CreateQuery) and said.each):
        return
    if names := sorted(_parameters(said)):
        raise BindError(
            f"${names[0]} has no value",
            "a parameter gets its values from FOR EACH",
            f"write CREATE QUERY name FOR EACH {names[0]} IN (...) AS ..., or a value",
        )
