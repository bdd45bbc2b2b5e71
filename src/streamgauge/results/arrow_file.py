"""Arrow file: a table stored whole or not at all, with its format in the metadata."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import pyarrow as pa

from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import write_whole
from streamgauge.log.segments import reading_arrow


def write_table(path: Path, table: pa.Table) -> int:
    """Store a table, whole or absent; equal tables give equal bytes. Return their checksum."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data = sink.getvalue()
    write_whole(path, data)
    return zlib.crc32(data)


def read_table(path: Path, *, what: str, tag: bytes, form: bytes | tuple[bytes, ...]) -> pa.Table:
    """Read a table whose metadata has a known format under a tag; `what` names it in errors."""
    with reading_arrow(path, what), pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
        # Codes that point nowhere would be followed.
        table.validate(full=True)
    found = (table.schema.metadata or {}).get(tag)
    if found not in ((form,) if isinstance(form, bytes) else form):
        raise StateTooOld(
            f"{what} of another format",
            f"{path} is of format {found!r}",
            "run the release that wrote it",
        )
    return table
