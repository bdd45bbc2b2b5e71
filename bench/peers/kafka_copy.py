"""Plain Structured Streaming that copies a topic to another: the least Kafka to Kafka can cost."""

from __future__ import annotations

from bench.data import Card
from bench.harness import WARM_UP, Outcome, Task
from bench.peers.scan import measured, session


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def run(task: Task) -> Outcome:
    """Copy key and value of every record; `form` is the address of the broker."""
    card = Card.read(task.prepared)
    frame = (
        session()
        .readStream.format("kafka")
        .option("kafka.bootstrap.servers", task.form)
        .option("subscribe", "rows")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", card.batch * task.files)
        .load()
    )
    writer = (
        frame.select("key", "value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", task.form)
        .option("topic", "copied")
    )
    return measured(writer, task, WARM_UP)
