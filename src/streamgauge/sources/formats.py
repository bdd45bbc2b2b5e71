"""Formats that rows may have, and what comes with records beside their values."""

from __future__ import annotations

FORMATS = ("parquet", "csv", "jsonl", "pcap", "flows", "access_log")
RECORD_FORMATS = ("json", "avro", "raw")
MESSAGE_FORMATS = ("json", "raw")

# What comes with each record of Kafka, and what a stream may declare it as.
KAFKA_BESIDE = {
    "kafka_key": ("string", "int", "float", "bool"),
    "kafka_timestamp": ("time",),
    "kafka_partition": ("int",),
    "kafka_offset": ("int",),
}

# And with each message of MQTT.
MQTT_BESIDE = {
    "mqtt_topic": ("string",),
    "mqtt_received": ("time",),
    "mqtt_qos": ("int",),
    "mqtt_retained": ("bool",),
}
