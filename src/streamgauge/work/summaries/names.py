"""Names that summaries count: as hashes where those will do, and what they are called again.

Hashes are of the names alone, so they are the same on all shards. An exact summary tells names
apart by their numbers among the names of the column, which stay as long as its rows do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.columns import Codes, Interner
from streamgauge.kernel.keys import Items, items, keys
from streamgauge.kernel.passing_names import TEXT, PassingNames
from streamgauge.synopses.bank import Bank
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.frequencies.listed import Listed
from streamgauge.synopses.frequencies.space_saving_bank import SpaceSavingBank
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Distinct, Frequency, Heavy, TopK
from streamgauge.synopses.synopsis import Synopsis

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint64]

HASHED, LISTED, CODED = "hashed", "listed", "coded"


def only_hashed(model: Synopsis) -> bool:
    """Whether items only matter as hashes: then the values are hashed, on every shard alike."""
    return model.answers == (Distinct,)


def coding(model: Synopsis, kind: str) -> str:
    """How a model takes names: hashed; hashed and called by name again; by their numbers."""
    if model.takes == "keys" or only_hashed(model):
        return HASHED
    return LISTED if model.takes == "items" and kind == "string" else CODED


def counts_numbers(model: Synopsis, kind: str) -> bool:
    """Whether a model counts the numbers of names among those of their column."""
    return coding(model, kind) == CODED


@dataclass(slots=True)
class SummaryNames:
    """The names of one summary's column.

    `coded` says that a listed summary of an earlier release counts numbers of names. `listed` are
    the texts that may be asked for by their hashes.
    """

    model: Synopsis
    coded: bool = False
    listed: Vocabulary = field(init=False)
    hashes: Words = field(default_factory=lambda: np.empty(0, np.uint64))

    def __post_init__(self) -> None:
        self.listed = Vocabulary(seed=self.model.seed, room=0)

    def coding(self, kind: str) -> str:
        """How names are taken here."""
        found = coding(self.model, kind)
        return CODED if found == LISTED and self.coded else found

    def forget_numbers(self) -> None:
        """Names have other numbers from now on."""
        self.hashes = self.hashes[:0]

    def taken(self, names: Interner, codes: Codes, kind: str) -> Array:
        """Names as the summary counts them; what null is, does not matter."""
        how = self.coding(kind)
        if how == CODED:
            return codes.astype(np.float64)
        if not len(names):
            return np.zeros(len(codes), np.int64)
        hashes = self._hashes(names)
        if how == LISTED:
            used = np.unique(codes)
            used = used[used >= 0]
            fresh = used[~np.isin(hashes[used], self.listed.known)]
            self.listed.words(items(_texts(names, fresh)))
        return hashes[codes].view(np.int64)

    def _hashes(self, names: Interner) -> Words:
        if isinstance(names, PassingNames):
            # Their numbers are given anew for each page.
            return keys(Items(names.texts, None, 0), seed=self.model.seed)
        known = len(self.hashes)
        if len(names) > known:
            fresh = items([str(name) for name in names.values[known:]])
            self.hashes = np.concatenate((self.hashes, keys(fresh, seed=self.model.seed)))
        return self.hashes

    def asked(self, question: Frequency, names: Interner, kind: str) -> Frequency:
        """How often a name is there, in the summary's own words."""
        if self.coding(kind) == CODED:
            return Frequency(float(names.index.get(question.item, -1)))
        found = keys(items([str(question.item)]), seed=self.model.seed)
        return Frequency(int(found[0].view("i8")))

    def called(self, item: Any, names: Interner, kind: str) -> Any:
        """What an item is called."""
        if self.coding(kind) == CODED:
            return names.values[int(item)]
        return self.listed.items(np.array([item], np.int64).view(np.uint64))[0]

    def tops(self, bank: Bank, question: TopK, names: Interner) -> list[tuple[Heavy, ...]]:
        """Top lists of every group; ties go by name, so that no seed or order decides them."""
        if self.coded and not isinstance(self.model, Exact):
            return bank.tops(question)
        found = []
        for group in range(bank.n_groups):
            one = bank.synopsis(group)
            if isinstance(one, Exact):
                found.append(_exact_by_name(one, question.k, names))
            else:
                assert isinstance(one, Listed), f"{one!r} lists nothing"
                found.append(self._listed_by_name(one, question.k))
        return found

    def _listed_by_name(self, one: Listed, most: int) -> tuple[Heavy, ...]:
        """The items of largest upper end, as the synopsis itself orders them but for ties."""
        words, low, high = one._entries()
        near = _reaching(np.lexsort((-low, -high)), most, high, low)
        called = self.listed.items(words[near])
        ends = (-high[near]).tolist(), (-low[near]).tolist(), called, near.tolist()
        ranked = sorted(zip(*ends, strict=True))
        return tuple(
            Heavy(words[at].view(np.int64).item(), Estimate(-least, -least, -upper))
            for upper, least, _, at in ranked[:most]
        )

    def narrow(self, held: list[Array]) -> None:
        """Forget the texts of hashes that nobody counts."""
        used = [column.astype(np.int64, copy=False).view(np.uint64) for column in held]
        words = np.unique(np.concatenate([np.empty(0, np.uint64), *used]))
        self.listed.keep(words[np.isin(words, self.listed.known)])


def held_words(bank: Bank) -> list[Words]:
    """Words that the groups of a bank of listed items hold."""
    if isinstance(bank, SpaceSavingBank):
        return [bank.words[bank.counts > 0.0]]
    held = (bank.synopsis(group) for group in range(bank.n_groups))
    return [one._entries().words for one in held if isinstance(one, Listed)]


def _texts(names: Interner, places: Array) -> pa.Array:
    if isinstance(names, PassingNames):
        return names.texts.take(pa.array(places))
    return pa.array([names.values[place] for place in places.tolist()], TEXT)


def _exact_by_name(one: Exact, most: int, names: Interner) -> tuple[Heavy, ...]:
    totals = one.totals
    near = _reaching(np.argsort(-totals, kind="stable"), most, totals, totals)
    called = [str(names.values[int(item)]) for item in one.items[near].tolist()]
    ranked = sorted(zip((-totals[near]).tolist(), called, near.tolist(), strict=True))
    return tuple(
        Heavy(one.items[at].item(), Estimate(-less, -less, -less))
        for less, _, at in ranked[:most]
        if less < 0.0
    )


def _reaching(order: Array, most: int, high: Array, low: Array) -> Array:
    """The first places of an order, with those that are equal to the last of them."""
    if len(order) <= most:
        return order
    last = order[most - 1]
    near: Array = np.flatnonzero((high > high[last]) | ((high == high[last]) & (low >= low[last])))
    return near
