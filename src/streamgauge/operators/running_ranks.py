"""Which value is the k-th of a group, as values come and go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.codes import Codes
from streamgauge.operators.counted_tree import add, find
from streamgauge.operators.steps import Steps, steps_of

Ints = npt.NDArray[np.int64]


def running_kth(steps: Steps, step: Ints, codes: Codes, amounts: Ints, wanted: Ints) -> Ints:
    """Number of a change whose value is the k-th of its group at each step; -1 if there is none.

    Parameters
    ----------
    steps
        Steps of the groups.
    step, codes, amounts
        For each change its step, the code of its value, and how many copies come or go.
    wanted
        k for each step, from 1.
    """
    if not len(step):
        return np.full(len(steps), -1, np.int64)
    groups = steps.thing[step]
    ranked = Codes(groups, len(steps.firsts)).then(codes).dense()
    change_of = ranked.examples()
    bases = np.searchsorted(groups[change_of], np.arange(len(steps.firsts) + 1))
    order = np.argsort(step, kind="stable")
    ends = np.searchsorted(step[order], np.arange(len(steps)), side="right")
    place = _places(ranked.codes[order], amounts[order], ends, steps.thing, bases, wanted)
    found: Ints = np.where(place >= 0, change_of[place], -1)
    return found


@compiled
def _places(rank: Ints, amount: Ints, ends: Ints, group: Ints, bases: Ints, wanted: Ints) -> Ints:
    found = np.full(len(ends), -1, np.int64)
    widest = 0
    for i in range(len(bases) - 1):
        widest = max(widest, bases[i + 1] - bases[i])
    space = np.zeros(widest + 1, np.int64)
    copies = np.zeros(widest, np.int64)
    current = -1
    tree = space[:1]
    base = 0
    start = 0
    for step in range(len(ends)):
        if group[step] != current:
            current = group[step]
            base = bases[current]
            size = bases[current + 1] - base
            tree = space[: size + 1]
            tree[:] = 0
            copies[:size] = 0
        for i in range(start, ends[step]):
            place = rank[i] - base
            after = copies[place] + amount[i]
            # Copies that go before they come are owed; until they come there are none.
            change = max(after, 0) - max(copies[place], 0)
            if change != 0:
                add(tree, place, change)
            copies[place] = after
        start = ends[step]
        if wanted[step] > 0:
            place = find(tree, wanted[step])
            if place < len(tree) - 1:
                found[step] = base + place
    return found


def once(thing: Codes, at: Ints, amounts: Ints) -> Ints:
    """Amounts that count each thing once while there are copies of it."""
    steps = steps_of(thing, at)
    there = (steps.running(amounts) > 0).astype(np.int64)
    counted = np.zeros(len(at), np.int64)
    counted[steps.change] = there - steps.previous(there)
    return counted


def lives(thing: Codes, at: Ints, amounts: Ints) -> tuple[Ints, Ints, Ints]:
    """Copies by when they came, the oldest going first.

    Gives the change with which copies came, the change with which they came or went, and how many.
    """
    steps = steps_of(thing, at)
    change = steps.change
    born, moved, copies = _matched(steps.totals(amounts), steps.firsts)
    return change[born], change[moved], copies


@compiled
def _matched(net: Ints, firsts: Ints) -> tuple[Ints, Ints, Ints]:
    """Let copies that go be the oldest that are there."""
    n = len(net)
    born = np.empty(2 * n, np.int64)
    moved = np.empty(2 * n, np.int64)
    copies = np.empty(2 * n, np.int64)
    left = np.zeros(n, np.int64)
    size = 0
    for thing in range(len(firsts)):
        stop = firsts[thing + 1] if thing + 1 < len(firsts) else n
        oldest = firsts[thing]
        for step in range(firsts[thing], stop):
            if net[step] > 0:
                left[step] = net[step]
                born[size], moved[size], copies[size] = step, step, net[step]
                size += 1
            gone = max(-net[step], 0)
            while gone > 0 and oldest < step:
                part = min(gone, left[oldest])
                if part > 0:
                    born[size], moved[size], copies[size] = oldest, step, -part
                    size += 1
                    left[oldest] -= part
                    gone -= part
                if left[oldest] == 0:
                    oldest += 1
    return born[:size], moved[:size], copies[:size]
