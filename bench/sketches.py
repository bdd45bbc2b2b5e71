"""Rows for the workload `synopses`, their exact answers, and the errors of others against them.

A thousand groups; keys by Zipf over a million; values lognormal. `--data DIR` gives parquet of
one's own with the columns g (whole number), key (whole number) and v (float).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from streamgauge.kernel.errors import BindError

SHARES = (0.5, 0.95, 0.99)
TOP = 10
GROUPS = 1000
KEYS = 1_000_000
EXPONENT = 1.1
ROW_GROUP = 1_000_000

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A directory of rows and the truth about them."""

    directory: str
    rows: int
    groups: int

    @property
    def parquet(self) -> Path:
        """Where the rows are."""
        return Path(self.directory) / "rows"

    @classmethod
    def read(cls, directory: str) -> Prepared:
        """A directory prepared before."""
        text = (Path(directory) / "prepared.json").read_text(encoding="utf-8")
        return cls(**json.loads(text))

    def truth(self) -> dict[str, Array]:
        """Exact answers by group, as columns."""
        with np.load(Path(self.directory) / "truth.npz") as held:
            return dict(held)


def generate(directory: Path, rows: int) -> Prepared:
    """Make the rows, two files of row groups of a million."""
    rng = np.random.default_rng(11)
    weights = 1.0 / np.arange(1, KEYS + 1) ** EXPONENT
    reached = np.cumsum(weights) / weights.sum()
    (directory / "rows").mkdir(parents=True)
    for part in range(2):
        n = rows // 2
        table = pa.table(
            {
                "g": rng.integers(0, GROUPS, n).astype(np.int32),
                "key": np.searchsorted(reached, rng.random(n)).astype(np.int64) * 1024,
                "v": rng.lognormal(3.0, 1.0, n),
            }
        )
        pq.write_table(table, directory / "rows" / f"{part}.parquet", row_group_size=ROW_GROUP)
    return _seal(directory)


def adopt(directory: Path, data: Path) -> Prepared:
    """Rows of somebody else's."""
    dataset = ds.dataset(data, format="parquet")
    missing = {"g", "key", "v"} - set(dataset.schema.names)
    if missing:
        raise BindError(
            f"the rows lack {', '.join(sorted(missing))}",
            f"{data} has {', '.join(dataset.schema.names)}",
            "give columns g (whole number), key (whole number) and v (float)",
        )
    (directory / "rows").mkdir(parents=True)
    table = dataset.to_table(columns=["g", "key", "v"])
    half = table.num_rows // 2
    for part, rows in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(rows, directory / "rows" / f"{part}.parquet", row_group_size=ROW_GROUP)
    return _seal(directory)


def _seal(directory: Path) -> Prepared:
    """Compute the exact answers and note what was prepared."""
    table = ds.dataset(directory / "rows", format="parquet").to_table()
    group, key, value = (np.asarray(table[name].to_numpy()) for name in ("g", "key", "v"))
    order = np.lexsort((key, group))
    group_sorted, key_sorted = group[order], key[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (group_sorted[1:] != group_sorted[:-1]) | (key_sorted[1:] != key_sorted[:-1])
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(order)))
    owner, item = group_sorted[starts], key_sorted[starts]
    names, distinct = np.unique(owner, return_counts=True)
    ranked = np.lexsort((-counts, owner))
    first = np.searchsorted(owner[ranked], names)
    tops = np.stack([item[ranked[at : at + TOP]] for at in first if at + TOP <= len(ranked)])
    by_value = np.lexsort((value, group))
    edges = np.append(np.searchsorted(group[by_value], names), len(by_value))
    np.savez(
        directory / "truth.npz",
        groups=names, distinct=distinct, tops=tops, values=value[by_value], edges=edges,
    )  # fmt: skip
    prepared = Prepared(str(directory), table.num_rows, len(names))
    (directory / "prepared.json").write_text(json.dumps(asdict(prepared)), encoding="utf-8")
    return prepared


def distinct_error(truth: dict[str, Array], found: dict[int, float]) -> dict[str, float]:
    """Mean and largest relative error over the groups."""
    told = np.array([found[g] for g in truth["groups"].tolist()])
    error = np.abs(told / truth["distinct"] - 1.0)
    return {"error": float(error.mean()), "worst": float(error.max())}


def rank_error(truth: dict[str, Array], found: dict[int, list[float]]) -> dict[str, float]:
    """Mean and largest distance in rank over the groups and shares."""
    edges, values = truth["edges"], truth["values"]
    errors = []
    for place, group in enumerate(truth["groups"].tolist()):
        ranked = values[edges[place] : edges[place + 1]]
        for share, told in zip(SHARES, found[group], strict=True):
            low = np.searchsorted(ranked, told, side="left") / len(ranked)
            high = np.searchsorted(ranked, told, side="right") / len(ranked)
            errors.append(max(0.0, low - share, share - high))
    return {"error": float(np.mean(errors)), "worst": float(np.max(errors))}


def missed(truth: dict[str, Array], found: dict[int, list[int]]) -> dict[str, float]:
    """Share of the true top items that were not named."""
    hit = [
        len(set(tops.tolist()) & set(found[group]))
        for group, tops in zip(truth["groups"].tolist(), truth["tops"], strict=True)
    ]
    return {"error": 1.0 - float(np.mean(hit)) / TOP, "worst": 1.0 - float(min(hit)) / TOP}
