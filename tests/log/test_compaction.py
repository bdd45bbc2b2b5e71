"""A compacted file says of itself what holds of all files in it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.log.compaction import Small, compacted, put_together
from streamgauge.log.home import Home


@pytest.mark.parametrize("highs", [(3, 9, 5), (9, 3, 5), (3, 5, 9)])
def test_a_compacted_file_is_as_new_as_the_newest_row_in_it(
    tmp_path: Path, highs: tuple[int, ...]
) -> None:
    home = Home.open(tmp_path / "home", shards=1)
    folder = home.root / "segments" / "s"
    folder.mkdir(parents=True)
    files = []
    for page, high in enumerate(highs, 1):
        path = folder / f"{page}.parquet"
        pq.write_table(pa.table({"ts": [high - 1, high]}), path)
        files.append(Small(str(path), page, high))
    made = put_together(home, "s", files)
    assert made is not None
    (found,) = compacted(home, "s")
    assert (made.high, found.high, found.page) == (9, 9, 3)
