"""Waiting: returns what was seen, asks again, fails with words at the deadline."""

from __future__ import annotations

import threading

import pytest

from streamgauge.checks.waiting import wait_until


def test_returns_at_once_what_is_true() -> None:
    assert wait_until(lambda: "ready", 0) == "ready"


def test_hears_another_thread() -> None:
    done = threading.Event()
    threading.Timer(0.05, done.set).start()
    assert wait_until(done.is_set, 10, every=0.01)


def test_says_what_it_waited_for() -> None:
    with pytest.raises(AssertionError, match=r"waited 0.05 s for 3 answers; last seen: \[\]"):
        wait_until(list, 0.05, what="3 answers", every=0.01)


def test_names_the_condition_when_nothing_is_said() -> None:
    done = threading.Event()
    with pytest.raises(AssertionError, match=r"Event\.is_set; last seen: False"):
        wait_until(done.is_set, 0)


def test_errors_of_the_condition_come_through() -> None:
    with pytest.raises(ZeroDivisionError):
        wait_until(lambda: 1 // 0, 10)
