"""Two stores for the workload `promise`: baskets and clicks that were recorded, and made-up ones.

Rows are played back as in the paper: the gaps of each store are exponential with a mean of a tenth
of a second. `--data DIR` takes two parquet files, one a store, with the columns ts (time), item and
value; their own times are then kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.harness import ROOT
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.time import SECOND

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHARED = ROOT.parent / "shared" / "data"
# Mean of the gaps between rows of a store, in microseconds, and the seed of all that is drawn.
GAP = 100_000
SEED = 20_060
# From here on a row that is drawn meets so much more often than an item that is.
SKEWED = 2.0


@dataclass(frozen=True, slots=True)
class Store:
    """Rows of one store in order of time."""

    ts: Ints
    item: Ints
    value: Floats

    def first(self, rows: int) -> Store:
        """Its first rows."""
        return Store(self.ts[:rows], self.item[:rows], self.value[:rows])

    def until(self, instant: int) -> Store:
        """Its rows up to an instant."""
        return self.first(int(np.searchsorted(self.ts, instant, side="right")))

    def after(self, instant: int) -> Store:
        """Its rows after an instant, which becomes the beginning."""
        start = int(np.searchsorted(self.ts, instant, side="right"))
        return Store(self.ts[start:] - instant, self.item[start:], self.value[start:])


@dataclass(frozen=True, slots=True)
class Stores:
    """Two stores, and how their items lie.

    Examples
    --------
    >>> even = Store(np.arange(4), np.array([0, 1, 2, 3]), np.ones(4))
    >>> Stores("even", (even, even)).skew
    1.0
    >>> Stores("even", (even, even)).selectivity
    0.25
    """

    name: str
    sides: tuple[Store, Store]

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """Share of each item that any store sells, in each store."""
        both = [store.item for store in self.sides]
        codes = np.unique(np.concatenate(both), return_inverse=True)[1]
        n = int(codes.max()) + 1 if len(codes) else 1
        left, right = np.split(codes, [len(both[0])])
        return (
            np.bincount(left, minlength=n) / max(1, len(left)),
            np.bincount(right, minlength=n) / max(1, len(right)),
        )

    @property
    def selectivity(self) -> float:
        """Chance that a row of one store meets a row of the other: the paper has 0.067."""
        left, right = self.shares
        return float(left @ right)

    @property
    def skew(self) -> float:
        """How much more often rows meet than if all items sold alike."""
        left, _ = self.shares
        return self.selectivity * len(left)

    @property
    def skewed(self) -> bool:
        """Whether there are rows worth preferring."""
        return self.skew >= SKEWED

    def parts(self, n: int) -> list[Stores]:
        """So many stretches of time, each from its own beginning."""
        end = max(int(side.ts[-1]) for side in self.sides)
        found = []
        for number in range(n):
            low, high = end * number // n, end * (number + 1) // n
            left, right = (side.until(high).after(low) for side in self.sides)
            found.append(Stores(self.name, (left, right)))
        return found

    @property
    def rows(self) -> int:
        """Rows of both stores."""
        return sum(len(store.ts) for store in self.sides)


def zipf(rows: int, *, items: int = 1000, power: float = 1.1, seed: int = SEED) -> Stores:
    """Baskets made up: the k-th item sells as `1 / k ** power`; numbers say nothing of ranks.

    Prices are lognormal by item, and one item in fifty is a hundred times as dear.
    """
    rng = np.random.default_rng(seed)
    shares = np.arange(1, items + 1, dtype=np.float64) ** -power
    number = rng.permutation(items)
    sides = [number[rng.choice(items, rows, p=shares / shares.sum())] for _ in range(2)]
    name = "uniform" if power == 0.0 else f"zipf {power:g}"
    return played(name, sides, [priced(side, seed) for side in sides], seed)


def priced(item: Ints, seed: int = SEED) -> Floats:
    """A price for each row of an item: that of the item, and a little of its own."""
    rng = np.random.default_rng(seed + 1)
    most = int(item.max()) + 1 if len(item) else 1
    price = rng.lognormal(1.0, 0.8, most) * np.where(rng.random(most) < 0.02, 100.0, 1.0)
    return np.asarray(np.round(price[item] * rng.uniform(0.8, 1.2, len(item)), 2))


def played(name: str, items: list[Ints], values: list[Floats], seed: int = SEED) -> Stores:
    """Rows at instants drawn for them; the stores end together."""
    rng = np.random.default_rng(seed + 2)
    made = [
        Store(np.cumsum(rng.exponential(GAP, len(item)).astype(np.int64) + 1), item, value)
        for item, value in zip(items, values, strict=True)
    ]
    end = min(int(store.ts[-1]) for store in made)
    left, right = (store.until(end) for store in made)
    return Stores(name, (left, right))


def _online_retail(rows: int) -> Stores:
    """Line items of a web shop; invoices in turn are of one store and the other."""
    path = SHARED / "online_retail" / "online_retail_2010_2011.parquet"
    table = pq.read_table(path, columns=["invoice_no", "stock_code", "unit_price"])
    table = table.slice(0, 3 * rows)
    invoice = table["invoice_no"].combine_chunks().dictionary_encode().indices.to_numpy()
    return _halves(
        "online_retail", numbers(table["stock_code"]), invoice, table["unit_price"], rows
    )


def _grocery(rows: int, column: str) -> Stores:
    """The two shops with most line items of a year; items are products or their categories."""
    table = pq.read_table(SHARED / "grocery_journey" / "transactions.parquet")
    counted = pc.value_counts(table["store_id"]).to_pylist()
    shops = [one["values"] for one in sorted(counted, key=lambda one: -one["counts"])[:2]]
    if column != "product_id":
        products = pq.read_table(
            SHARED / "grocery_journey" / "products.parquet", columns=["product_id", column]
        )
        place = pc.index_in(table["product_id"], products["product_id"])
        table = table.append_column(column, pc.take(products[column], place))
    table = table.filter(pc.is_valid(table[column]))
    item, shop = numbers(table[column]), table["store_id"].to_numpy()
    value = table["sales_value"].to_numpy()
    name = "grocery" if column == "product_id" else f"grocery {column.partition('_')[2]}"
    chosen = [np.flatnonzero(shop == one)[:rows] for one in shops]
    return played(name, [item[own] for own in chosen], [value[own] for own in chosen])


def _baskets(folder: str, file: str, rows: int) -> Stores:
    """Lists of items; lists in turn are of one store and the other."""
    table = pq.read_table(SHARED / folder / file, columns=["items"]).slice(0, 2 * rows)
    lists = table["items"].combine_chunks()
    item = lists.flatten().to_numpy().astype(np.int64)
    basket = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    return _halves(folder, item, basket, pa.chunked_array([priced(item)]), rows)


def _halves(name: str, item: Ints, basket: Ints, value: pa.ChunkedArray, rows: int) -> Stores:
    amount = value.to_numpy().astype(np.float64)
    chosen = [np.flatnonzero(basket % 2 == side)[:rows] for side in range(2)]
    return played(name, [item[own] for own in chosen], [amount[own] for own in chosen])


def numbers(column: pa.ChunkedArray) -> Ints:
    """Items as whole numbers: their own, or their places in order of their names.

    >>> numbers(pa.chunked_array([["pear", "apple", "pear"]]))
    array([1, 0, 1])
    """
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), np.int64)
    coded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    place = np.argsort(np.argsort(coded.dictionary.to_numpy(zero_copy_only=False)))
    return np.asarray(place[coded.indices.to_numpy()], np.int64)


def keys_of(item: Ints) -> npt.NDArray[np.uint64]:
    """Keys of items, as a store of the engine hashes them: spread over 64 bits."""
    found = np.empty(len(item), np.uint64)
    _fill(item, found)
    return found


@compiled
def _fill(item, out):  # type: ignore[no-untyped-def]
    for number in range(len(item)):
        out[number] = mix64(item[number])


RECORDED: dict[str, Callable[[int], Stores]] = {
    "online_retail": _online_retail,
    "grocery_journey": lambda rows: _grocery(rows, "product_id"),
    "grocery_journey/category": lambda rows: _grocery(rows, "product_category"),
    "fimi_retail": lambda rows: _baskets("fimi_retail", "retail.parquet", rows),
    "clicks_msnbc": lambda rows: _baskets("clicks_msnbc", "msnbc.parquet", rows),
    "clicks_bms_webview": lambda rows: _baskets("clicks_bms_webview", "bms_webview1.parquet", rows),
}


def made_up(rows: int) -> list[Stores]:
    """Stores that need no files: like the paper's, longer-tailed, and without any skew."""
    return [
        zipf(rows, items=200, power=1.0),
        zipf(rows, items=1000, power=1.3),
        zipf(rows, items=500, power=0.0),
    ]


def recorded(rows: int, skipped: list[str]) -> Iterator[Stores]:
    """What was recorded, where it is; what is not there is noted."""
    for name, read in RECORDED.items():
        if (SHARED / name.partition("/")[0]).is_dir():
            yield read(rows)
        else:
            skipped.append(f"{name}: not beside the source tree")


def given(directory: Path, rows: int) -> Stores:
    """Stores of one's own, from two parquet files in order of their names."""
    files = sorted(directory.glob("*.parquet")) if directory.is_dir() else []
    if len(files) != 2:
        raise SourceFailure(
            f"two streams are joined, one parquet file each, in {str(directory)!r}",
            f"there are {len(files)}",
            "give a directory with two parquet files that have the columns ts, item, value",
        )
    tables = [_columns_of(path) for path in files]
    item = numbers(pa.chunked_array([part for t in tables for part in t["item"].chunks]))
    parts = np.split(item, [tables[0].num_rows])
    sides = []
    for table, own in zip(tables, parts, strict=True):
        ts = table["ts"].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        order = np.argsort(ts, kind="stable")[:rows]
        sides.append(Store(ts[order], own[order], table["value"].to_numpy()[order]))
    start = min(int(side.ts[0]) for side in sides) - SECOND
    end = min(int(side.ts[-1]) for side in sides)
    left, right = (
        Store(side.ts - start, side.item, side.value).until(end - start) for side in sides
    )
    return Stores(directory.name, (left, right))


def _columns_of(path: Path) -> pa.Table:
    names = pq.read_schema(path).names
    missing = [name for name in ("ts", "item", "value") if name not in names]
    if missing:
        raise SourceFailure(
            f"no column {missing[0]!r} in {path.name!r}",
            f"its columns are {', '.join(names)}",
            "name the columns ts, item and value",
        )
    table = pq.read_table(path, columns=["ts", "item", "value"])
    kind = table["item"].type
    if not pa.types.is_integer(kind):
        table = table.set_column(1, "item", table["item"].cast(pa.string()))
    table = table.set_column(2, "value", table["value"].cast(pa.float64()))
    usable = pc.and_(pc.is_valid(table["ts"]), pc.is_valid(table["item"]))
    table = table.filter(pc.and_(usable, pc.fill_null(pc.is_finite(table["value"]), False)))
    if table.num_rows == 0:
        raise SourceFailure(
            f"no usable rows in {path.name!r}",
            "all have a null or an infinite value",
            "give rows with ts, item and a finite value",
        )
    return table
