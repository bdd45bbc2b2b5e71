"""Two stores and too little time: what is found of a join when most of it must be left undone.

Both stores sell many things, a few of them all day and some jewels hardly ever. Which things
were sold in both within a minute? Answering in full takes a look-up for every sale. Three queries
may do one in ten of them, and each prefers something else: many rows, a fair picture of all rows,
or the rare ones. Taking sales as they come is there to compare.

Run it with `python examples/two_stores.py`. It needs no Java and leaves nothing behind. With
`--retail FILE` it takes the invoices of the UCI Online Retail data set, in Parquet, instead.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamgauge as sg

BEGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SECOND = 1_000_000
MINUTES = 6
# Sales of one store in a second, and look-ups that a query may do in that time.
RATE = 5
PROBES = 1
ITEMS = 100
JEWELS = 30
DEAR = 100.0
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STREAM = """
CREATE STREAM {store} FROM FILES '{place}/{store}' FORMAT parquet TIME ts;
CREATE SUMMARY {store}_items ON {store}(item) WITH GRANULARITY 30 SECONDS AND COLLAPSE(2, 2);
"""
JOIN = """
CREATE QUERY {name} AS
SELECT n.item, n.price, n.ts AS sold_north, s.ts AS sold_south
FROM north [RANGE 1 MINUTE] n, south [RANGE 1 MINUTE] s WHERE n.item = s.item
{terms};
"""
TERMS = "WITH PREFERENCE {order} COUNT(n.item), COUNT(s.item) BUDGET PROBES {probes}"
ORDERS = ("desc", "weighted", "asc")
# Lines of EXPLAIN ANALYZE about a budget.
SAID = tuple(f"  {word} " for word in ("budget", "overload", "probes", "regions", "not found"))


@dataclass(frozen=True)
class Sales:
    """Sales of one store: when, what, at which price."""

    at: Ints
    item: Ints
    price: Floats

    def table(self) -> pa.Table:
        """The rows of a file."""
        times = pa.array(BEGIN + self.at, pa.timestamp("us", tz="UTC"))
        return pa.table({"ts": times, "item": self.item, "price": self.price})


def baskets(seed: int, minutes: int = MINUTES) -> Sales:
    """Sales made up: the k-th thing sells as 1 / k, and three sales in a hundred are jewels."""
    dice = np.random.default_rng(seed)
    n = minutes * 60 * RATE
    at = np.sort(dice.integers(0, minutes * 60 * SECOND, n))
    shares = 1.0 / np.arange(1, ITEMS + 1)
    usual = dice.choice(ITEMS, n, p=shares / shares.sum())
    item = np.where(dice.random(n) < 0.03, ITEMS + dice.integers(0, JEWELS, n), usual)
    price = np.where(item < ITEMS, 2.0 + item % 20, DEAR + 50.0 * (item % JEWELS))
    return Sales(at, item, price)


def retail(path: Path) -> tuple[Sales, Sales]:
    """Invoices of a shop, dealt in turn to two stores and played at the same rate."""
    n = MINUTES * 60 * RATE
    rows = pq.read_table(path, columns=["invoice_no", "stock_code", "unit_price"]).slice(0, 2 * n)
    invoice, item = (
        rows[name].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
        for name in ("invoice_no", "stock_code")
    )
    price = rows["unit_price"].to_numpy()
    dealt = [np.flatnonzero(invoice % 2 == store)[:n] for store in (0, 1)]
    at = np.arange(n) * SECOND // RATE
    north, south = (Sales(at[: len(own)], item[own], price[own]) for own in dealt)
    # No two sales at the same instant.
    return north, Sales(south.at + SECOND // (2 * RATE), south.item, south.price)


def counts(items: Ints, size: int) -> Floats:
    """How often each item is among the rows."""
    return np.bincount(items, minlength=size).astype(np.float64)


def distance(found: Floats, exact: Floats) -> float:
    """How far apart two histograms are, as shares: 0 alike, 1 with nothing in common."""
    apart = found / max(found.sum(), 1.0) - exact / exact.sum()
    return float(0.5 * np.abs(apart).sum())


def rare_items(whole: Floats) -> Ints:
    """The items of fewest rows that make up one row in fifty."""
    order = np.argsort(whole, kind="stable")
    return order[np.cumsum(whole[order]) <= whole.sum() / 50]


def as_they_come(rows: pa.Table, stores: tuple[Sales, Sales], probes: int = PROBES) -> pa.Table:
    """What looking up the first sales of each second finds: pairs whose later sale is one."""
    at = np.sort(np.concatenate([sales.at for sales in stores]))
    second = -(-at // SECOND)
    rank = np.arange(len(at)) - np.searchsorted(second, second)
    sold = [rows[name].cast(pa.int64()).to_numpy() - BEGIN for name in ("sold_north", "sold_south")]
    return rows.filter(pa.array(np.isin(np.maximum(*sold), at[rank < probes])))


def tell(name: str, rows: pa.Table, exact: pa.Table) -> None:
    """One line: how many rows, how like the exact ones, how many of the rare and the dear ones."""
    size = int(exact["item"].to_numpy().max()) + 1
    found, whole = (counts(table["item"].to_numpy(), size) for table in (rows, exact))
    rare = rare_items(whole)
    dear, all_dear = (np.count_nonzero(t["price"].to_numpy() >= DEAR) for t in (rows, exact))
    print(
        f"{name:<13}{rows.num_rows:>6,} {rows.num_rows / exact.num_rows:>7.1%}"
        f"{distance(found, whole):>10.3f}{found[rare].sum():>9,.0f} of {whole[rare].sum():<6,.0f}"
        f"{dear:>5} of {all_dear}"
    )


def alive(changes: pa.Table, at: pa.Scalar) -> int:
    """Rows that are part of an answer at an instant."""
    return int(pc.sum(changes.filter(pc.less_equal(changes["as_of"], at))["count"]).as_py())


def declare(gauge: sg.Gauge, place: Path, stores: tuple[Sales, Sales]) -> None:
    """Write the sales of both stores, and create their streams and summaries."""
    for store, sales in zip(("north", "south"), stores, strict=True):
        (place / store).mkdir()
        pq.write_table(sales.table(), place / store / "sales.parquet")
        gauge.sql(STREAM.format(store=store, place=place))


def came(gauge: sg.Gauge, name: str) -> pa.Table:
    """All rows that a query has given."""
    changes = gauge.row_changes(name)
    return changes.filter(pc.greater(changes["count"], 0))


def show(gauge: sg.Gauge, stores: tuple[Sales, Sales]) -> None:
    """Print what was found, and what the queries say of themselves."""
    exact = came(gauge, "exact")
    print("               rows  of all  distance     rare          dear")
    for name in ("exact", *ORDERS):
        tell(name, came(gauge, name), exact)
    tell("as they come", as_they_come(exact, stores), exact)
    print()
    for name in ORDERS:
        *_, last = gauge.subscribe_rows(name, since_epoch=0, timeout=0)
        at = pa.scalar(last.as_of, pa.timestamp("us", tz="UTC"))
        lacking = alive(gauge.row_changes("exact"), at) - alive(gauge.row_changes(name), at)
        print(
            f"{name}: {last.share:.1%} of the regions processed, "
            f"about {last.unseen:,.0f} rows unseen, in truth {lacking:,}"
        )
    print()
    for line in gauge.sql("EXPLAIN ANALYZE desc").splitlines():
        if line.startswith(SAID):
            print(line)


def main() -> None:
    """Declare, run and compare."""
    options = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    options.add_argument("--retail", type=Path)
    given, _ = options.parse_known_args()
    stores = retail(given.retail) if given.retail else (baskets(1), baskets(2))
    with (
        tempfile.TemporaryDirectory() as place,
        sg.connect(Path(place) / "home", engine="local") as gauge,
    ):
        declare(gauge, Path(place), stores)
        gauge.sql(JOIN.format(name="exact", terms=""))
        for order in ORDERS:
            gauge.sql(JOIN.format(name=order, terms=TERMS.format(order=order, probes=PROBES)))
        gauge.start()
        gauge.drain()
        show(gauge, stores)


if __name__ == "__main__":
    main()
