"""A real topic: epochs in parts, what was cut off goes on, and who came before is shut out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.kernel.errors import TargetFailure
from streamgauge.plan.sink import Sink
from streamgauge.results.change_log import epochs_after
from streamgauge.sinks.batch import Batch, read_batch
from streamgauge.sinks.topic import TopicWriter
from tests.kafka_broker import kafka
from tests.sinks.world import World, given, records_in, said

pytestmark = [pytest.mark.broker, pytest.mark.jvm]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with kafka(tmp_path_factory.mktemp("broker")) as address:
        yield address


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A home with two epochs of answers, the second of them large."""
    made = World(tmp_path)
    made.read(10)
    while made.gauge.step():
        pass
    made.read(*range(90, 130))
    while made.gauge.step():
        pass
    return made


def batches(world: World, to: str, broker: str) -> list[Batch]:
    home = world.gauge.home
    sink = Sink("out", (), sg.to_kafka(broker, to))
    return [read_batch(home, epoch, sink) for epoch in epochs_after(home, 0)]


def test_an_epoch_that_was_cut_off_goes_on_with_the_part_that_is_missing(
    world: World, broker: str
) -> None:
    *early, large = batches(world, "parts", broker)
    to = sg.to_kafka(broker, "parts")
    first = TopicWriter(to, "parts", part=7)
    assert first.connect(0) == 0
    for batch in early:
        first.write(batch)
    written = first._topic.write
    left = 3

    def cut_off(records: object, place: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise InterruptedError
        written(records, place)  # type: ignore[arg-type]

    first._topic.write = cut_off  # type: ignore[method-assign,assignment]
    with pytest.raises(InterruptedError):
        first.write(large)
    second = TopicWriter(to, "parts", part=7)
    # The epoch in hand is not done, and what is noted in the home may be older.
    assert second.connect(0) == large.epoch - 1
    second.write(large)
    second.close()
    assert large.size > 4 * 7
    records = records_in(broker, "parts")
    assert said(records) == given(world.gauge)
    # A third one finds all of it there.
    third = TopicWriter(to, "parts", part=7)
    assert third.connect(0) == large.epoch
    third.close()
    first.close()


def test_who_came_before_is_shut_out_and_writes_nothing(world: World, broker: str) -> None:
    *_, large = batches(world, "taken", broker)
    to = sg.to_kafka(broker, "taken")
    first, second = (TopicWriter(to, "taken") for _ in range(2))
    first.connect(0)
    second.connect(0)
    with pytest.raises(TargetFailure, match="another job delivers for this sink"):
        first.write(large)
    assert first.shut_out
    second.write(large)
    second.close()
    assert len(records_in(broker, "taken")) == large.size


def test_a_note_that_is_newer_than_what_the_brokers_remember_holds(
    world: World, broker: str
) -> None:
    writer = TopicWriter(sg.to_kafka(broker, "forgotten"), "forgotten")
    assert writer.connect(41) == 41
    writer.close()
