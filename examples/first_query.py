"""A first standing query: the average of twenty sensors, answered each minute of event time.

Run it with `python examples/first_query.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from itertools import islice

import streamgauge as sg

with (
    tempfile.TemporaryDirectory() as home,
    sg.connect(home, engine="local") as gauge,
):
    gauge.stream("plant", source=sg.plant(n_sensors=20, speed=600), key="series", time="ts")
    gauge.register(
        sg.Query("heat", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("1 minute"))
    )
    gauge.start()
    for answer in islice(gauge.subscribe(since_epoch=0), 5):
        print(answer)
