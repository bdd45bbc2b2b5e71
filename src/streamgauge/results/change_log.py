"""Change log: every answer ever given, by epoch, exactly once.

An epoch's answers are visible once its commit file is. Readers keep the number of the last epoch
they have seen and go on from there; nothing is missed and nothing comes twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.contracts.answer import Answer, Charge
from streamgauge.contracts.schema import ANSWERS
from streamgauge.kernel.files import number_name, numbered
from streamgauge.log.commits import answer_files, read_commit
from streamgauge.log.home import Home
from streamgauge.log.journal import refuse_cleared
from streamgauge.results.blocks import read_block


def epoch_answers(home: Home, epoch: int, names: Collection[str] | None = None) -> pa.Table:
    """Answers of one epoch, or those of some queries, by event time."""
    blocks = [read_block(path, names) for path in answer_files(home, epoch)]
    table = pa.concat_tables(blocks) if blocks else ANSWERS.empty_table()
    times = np.asarray(table["as_of"].cast(pa.int64()).to_numpy())
    return table.take(pa.array(np.argsort(times, kind="stable")))


def epochs_after(home: Home, epoch: int) -> list[int]:
    """Committed epochs after one, that have answers; after 0 all that are kept."""
    if epoch > 0:
        refuse_cleared(home, epoch + 1)
    committed = home.committed()
    root = home.root / "answers"
    return [number for number in numbered(root, "") if epoch < number <= committed]


def answers(home: Home, *, name: str | None = None, after: int = 0) -> pa.Table:
    """All committed answers after an epoch, of one query or of all."""
    names = None if name is None else (name,)
    read = (epoch_answers(home, epoch, names) for epoch in epochs_after(home, after))
    tables = [table for table in read if table.num_rows]
    return pa.concat_tables(tables) if tables else ANSWERS.empty_table()


def as_answers(table: pa.Table) -> Iterator[Answer]:
    """Answers as values, one by one."""
    times = table["as_of"].cast(pa.int64()).to_pylist()
    for row, as_of in zip(table.to_pylist(), times, strict=True):
        yield as_answer({**row, "as_of": as_of})


def as_answer(row: dict[str, Any]) -> Answer:
    """One row of the public schema as a value."""
    missing = row["value"] is None
    return Answer(
        **{
            **row,
            "low": float("nan") if missing else row["low"],
            "high": float("nan") if missing else row["high"],
            "group": tuple(json.loads(row["group"])) if row["group"] else (),
            "charges": tuple(Charge.from_dict(charge) for charge in row["charges"]),
        }
    )


def commits(home: Home, after: int = 0) -> list[dict[str, Any]]:
    """Commit records after an epoch."""
    return [
        read_commit(home, number) for number in numbered(home.commits, ".json") if number > after
    ]


def export_parquet(home: Home, directory: Path, *, after: int = 0) -> list[Path]:
    """Write committed answers as parquet, one file per epoch; files already there stay."""
    written = []
    for epoch in epochs_after(home, after):
        path = directory / number_name(epoch, ".parquet")
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.tmp")
            pq.write_table(epoch_answers(home, epoch), partial, compression="zstd")
            partial.replace(path)
            written.append(path)
    return written
