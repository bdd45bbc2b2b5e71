"""Regions: the algebra of sets, held to membership; what travels is what was meant."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamgauge.filters.regions as regions_file
from streamgauge.edge.protocol import Reply
from streamgauge.filters.regions import ALL, NONE, Region, union

pytestmark = pytest.mark.slow

# Few numbers and their neighbours, so that ends meet often.
ENDS = [0.0, 1.0, 2.5, math.nextafter(1.0, 2.0), -3.0, 1e308, sys.float_info.max, 5e-324]
values = st.sampled_from([sign * end for end in ENDS for sign in (1.0, -1.0)])
ends = values | st.sampled_from([math.inf, -math.inf])
regions = st.lists(st.tuples(ends, ends), max_size=5).map(lambda pairs: Region(tuple(pairs)))
numbers = values | st.floats(allow_nan=False, allow_infinity=False)


@given(one=regions, two=regions, value=numbers)
def test_the_algebra_is_that_of_membership(one: Region, two: Region, value: float) -> None:
    assert (value in one | two) == (value in one or value in two)
    assert (value in one & two) == (value in one and value in two)
    assert (value in ~one) == (value not in one)
    assert one.covers(two) == (not bool(two & ~one))


@given(one=regions, two=regions, three=regions)
def test_equal_sets_are_equal_values(one: Region, two: Region, three: Region) -> None:
    assert ~~one == one
    assert one | one == one == one & one
    assert one & (two | three) == (one & two) | (one & three)
    assert ~(one | two) == ~one & ~two
    assert one | ~one == ALL
    assert one & ~one == NONE
    assert union([one, two, three]) == one | two | three


@given(one=regions)
def test_intervals_are_sorted_and_apart(one: Region) -> None:
    flat = [end for pair in one.intervals for end in pair]
    assert flat == sorted(flat)
    for (_, high), (low, _) in zip(one.intervals, one.intervals[1:], strict=False):
        assert math.nextafter(high, math.inf) < low


@given(one=regions, pairs=st.integers(1, 4))
def test_a_coarser_region_holds_the_finer(one: Region, pairs: int) -> None:
    coarse = one.coarsened(pairs)
    assert coarse.covers(one)
    assert len(coarse.intervals) <= pairs
    assert len(one.intervals) > pairs or coarse == one


@given(one=regions)
def test_a_region_travels_unchanged(one: Region) -> None:
    reply = Reply("5f", 1, 10, 11, 12, regions={3: list(one.intervals)})
    assert Region(tuple(Reply.decode(reply.encode()).regions[3])) == one


def test_what_is_no_finite_number_is_nowhere() -> None:
    assert not any(odd in ALL for odd in (math.nan, math.inf, -math.inf, "1", None))
    assert Region.between(math.nan, 1.0) == NONE
    assert Region.between(2.0, 1.0) == NONE
    assert Region.of(math.nan, math.inf) == NONE


def test_ends_are_told_as_they_were_meant() -> None:
    assert str(Region.above(30.0, strictly=True)) == "> 30"
    assert str(Region.below(30.0)) == "<= 30"
    assert str(Region.of(1.0, 4.0)) == "1 or 4"
    assert (str(ALL), str(NONE)) == ("everything", "nothing")


def test_an_agent_needs_nothing_but_the_standard_library_for_it() -> None:
    """Imported by its file, since the package above it is heavier."""
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('regions', {regions_file.__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['regions'] = module\n"
        "spec.loader.exec_module(module)\n"
        "assert not {'numpy', 'pandas', 'pyarrow'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=60)
