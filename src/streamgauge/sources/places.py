"""Where rows lie: paths of this machine, endings of files, addresses of MQTT brokers."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".pcap": "pcap",
    ".pcapng": "pcap",
    ".cap": "pcap",
}
_PACKED = (".gz", ".bz2", ".zst")
_SCHEME = re.compile(r"(?:^|/)([a-zA-Z][a-zA-Z0-9+.-]+):/")


def ending(name: str) -> str:
    """Ending of a file's name, without that of its compression.

    >>> ending("rows.csv.gz"), ending("rows")
    ('.csv', '')
    """
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name[name.rfind(".") :] if "." in name else ""


def local_path(path: str | Path) -> Path:
    """A path of this machine; raise BindError for an address of another scheme.

    >>> local_path("file:///data/rows").as_posix()
    '/data/rows'
    """
    text = str(path)
    if text.startswith("file:/"):
        return Path("/" + text.removeprefix("file:").lstrip("/"))
    scheme = _SCHEME.search(text)
    if scheme is None:
        return Path(path)
    raise BindError(
        f"cannot read {text!r} as files",
        f"got the scheme {scheme[1]}, expected a path that this machine has mounted",
        "mount or copy the files and give their path; "
        "or read them with Spark: sg.dataframe(spark.readStream....load(...))",
    )


def check_mqtt(url: str, topic: str) -> None:
    """Raise unless a broker and its topics are written as they should be."""
    parts = urlsplit(url)
    if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
        raise BindError(
            f"{url.rpartition('@')[2]!r} is no MQTT broker",
            "it must begin with mqtt:// or mqtts:// and name a host",
            "write 'mqtt://127.0.0.1:1883', for example",
        )
    if "@" in parts.netloc:
        raise BindError(
            "the address of a broker would be kept with its password",
            f"{parts.scheme}://...@{parts.netloc.rpartition('@')[2]}",
            "leave both out: give user='...' with password_file='...' or password_env='...'",
        )
    levels = topic.split("/")
    wrong = None
    if not topic or "\0" in topic or len(topic.encode()) > 65_535:
        wrong = "a topic has 1 to 65,535 bytes"
    elif "#" in levels[:-1]:
        wrong = "# may only be the last level"
    elif any(len(level) > 1 and set(level) & set("+#") for level in levels):
        wrong = "+ and # stand for whole levels"
    if wrong is not None:
        hint = "write for example 'sensors/+/temp' or 'sensors/#'"
        raise BindError(f"no topic can match {topic!r}", wrong, hint)
