"""How a delivery goes on after its target failed."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.kernel.errors import TargetFailure
from streamgauge.sinks.batch import Batch
from streamgauge.sinks.delivery import FIRST_WAIT, FOR_GOOD, Delivery, Known
from tests.sinks.world import World

pytestmark = pytest.mark.slow


class FailingWriter:
    """A target that takes nothing."""

    def __init__(self, *, shut_out: bool) -> None:
        self._taken_over = shut_out
        self.shut_out = False

    def connect(self, place: int) -> int:
        return place

    def write(self, batch: Batch) -> None:
        self.shut_out = self._taken_over
        raise TargetFailure("it failed", f"epoch {batch.epoch}", "mend it")

    def close(self) -> None: ...


@pytest.mark.parametrize("shut_out", [False, True])
def test_a_target_that_failed_is_tried_again_but_not_one_that_another_job_took_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shut_out: bool
) -> None:
    writer = FailingWriter(shut_out=shut_out)
    monkeypatch.setattr(Delivery, "_writer_of", lambda *_: writer)
    gauge = World(tmp_path).gauge
    gauge.create_sink("out", sg.to_kafka("broker:9092", "answers"), history=True)
    (tmp_path / "source" / "rows.csv").write_text(
        "ts,series,site,value\n2026-01-01T00:00:01Z,a,north,1\n2026-01-01T00:00:05Z,a,north,2\n"
    )
    while gauge.step():
        pass
    registry = gauge.registry()
    known = Known(registry.sinks["out"], registry.queries, gauge.home.committed())
    delivery = Delivery(gauge.home, known)
    delivery.open()
    assert delivery.step(), "it connects"
    with pytest.raises(TargetFailure) as failure:
        delivery.step()
    wait = delivery.stumbled(failure.value)
    delivery.close()
    assert wait == (FOR_GOOD if shut_out else FIRST_WAIT)
