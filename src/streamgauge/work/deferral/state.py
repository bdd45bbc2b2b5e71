"""State of the deferred queries of a shard in the wire format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.drift import extremes
from streamgauge.drift.cells import REMEMBERED, Memory, Records
from streamgauge.drift.paths import PATH
from streamgauge.drift.timer import FARTHEST
from streamgauge.engine.naming import Groups, pack_combiner, unpack_combiner
from streamgauge.kernel.wire import Array
from streamgauge.operators.emission import ALWAYS
from streamgauge.work.deferral.family import Family
from streamgauge.work.deferral.technique import DeferralKey

if TYPE_CHECKING:
    from streamgauge.work.deferral.operator import DeferralOperator

Arrays = dict[str, Array]


def _fields(kind: np.dtype[Any]) -> dict[str, Any]:
    """A record type as plain values, so that state tells how to read it."""
    assert kind.fields is not None
    parts = {name: (part[0], part[1]) for name, part in kind.fields.items()}
    return {
        "names": list(parts),
        "formats": [[part.base.str, list(part.shape)] for part, _ in parts.values()],
        "offsets": [offset for _, offset in parts.values()],
        "itemsize": kind.itemsize,
    }


def _records(data: Array, fields: dict[str, Any], kind: np.dtype[Any]) -> Records:
    """Records from their bytes; fields that have come since start at zero."""
    formats = [(form, tuple(shape)) for form, shape in fields["formats"]]
    form: Any = {**fields, "formats": formats}
    return _alike(np.frombuffer(data.tobytes(), np.dtype(form)), kind)


def _alike(records: Records, kind: np.dtype[Any]) -> Records:
    """A copy of records in another type, or in their own; bytes that no field has are zero.

    NumPy leaves those bytes as they happen to be, and state must not depend on that.
    """
    found = np.zeros(len(records), kind)
    for name in set(records.dtype.names or ()) & set(kind.names or ()):
        found[name] = records[name]
    return found


def pack_deferral(prefix: str, piece: DeferralOperator, arrays: Arrays) -> dict[str, Any]:
    """Plain values of a piece; its arrays are added to `arrays`."""
    arrays[f"{prefix}/due"] = piece.memory.due
    for name, records in (("path", piece.paths), ("cell", piece.memory.cell)):
        arrays[f"{prefix}/{name}"] = _alike(records, records.dtype).view(np.uint8)
    for name, column in extremes.pack(piece.extremes)._asdict().items():
        arrays[f"{prefix}/extreme/{name}"] = column
    who = np.full((len(piece.who), 4), ALWAYS)
    who[:, :3] = np.array(piece.who, np.int64).reshape(len(piece.who), 3)
    if piece.begun:
        who[:, 3] = [piece.begun.get(one[:2], int(ALWAYS)) for one in piece.who]
    arrays[f"{prefix}/who"] = who
    arrays[f"{prefix}/recent"] = piece.recent
    if len(piece.owed):
        arrays[f"{prefix}/owed"] = piece.owed
    families = []
    for serial, family in enumerate(piece.families.values()):
        place = f"{prefix}/family/{serial}"
        pack_combiner(place, family.groups.combiner, arrays)
        arrays[f"{place}/local"] = np.array(family.groups.local, np.int32)
        arrays[f"{place}/homes"], arrays[f"{place}/known"] = family.homes, family.known
        arrays[f"{place}/newest"] = family.newest
        families.append([list(family.groups.columns), family.groups.texts])
    return {
        "key": piece.key.text(),
        "path": _fields(PATH),
        "cell": _fields(REMEMBERED),
        "ticks": piece.ticks,
        "rows": piece.rows,
        "spacing": piece.spacing,
        "families": families,
        **({"pools": piece.pools} if piece.pools else {}),
    }


def unpack_deferral(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> dict[str, Any]:
    """Read the fields of an operator back."""
    families, pools = {}, values.get("pools", 0)
    for serial, (names, texts) in enumerate(values["families"]):
        place, by = f"{prefix}/family/{serial}", tuple(names)
        local = arrays[f"{place}/local"].tolist()
        groups = Groups(by, shard, shards, unpack_combiner(place, arrays), local, texts, pools)
        homes, known = arrays[f"{place}/homes"], arrays[f"{place}/known"]
        families[by] = Family(groups, homes, known, arrays[f"{place}/newest"], filled=True)
    packed = {name: arrays[f"{prefix}/extreme/{name}"] for name in extremes.Packed._fields}
    who = arrays[f"{prefix}/who"].tolist()
    cell = _records(arrays[f"{prefix}/cell"], values["cell"], REMEMBERED)
    due, recent = arrays[f"{prefix}/due"].copy(), arrays[f"{prefix}/recent"]
    if len(recent):
        # A deadline farther off than any wait was set when waits of extremes had no bound.
        due[due > recent[-1] + int(FARTHEST * values["spacing"])] = recent[-1]
    return {
        "key": DeferralKey(json.loads(values["key"])[1]),
        "paths": _records(arrays[f"{prefix}/path"], values["path"], PATH),
        "memory": Memory(due, cell),
        "extremes": extremes.unpack(**packed),
        "who": [(number, version, size) for number, version, size, _ in who],
        "ticks": values["ticks"],
        "rows": values["rows"],
        "recent": recent,
        "spacing": values["spacing"],
        "families": families,
        "begun": {(number, version): at for number, version, _, at in who if at != ALWAYS},
        "pools": pools,
        "owed": arrays.get(f"{prefix}/owed", np.empty(0, np.int64)),
    }
