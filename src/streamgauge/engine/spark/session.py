"""Session: one SparkSession, its interpreter pinned, its settings in one place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from pyspark.sql import SparkSession

from streamgauge.engine.spark.jars import cached_jars
from streamgauge.kernel.errors import MissingRuntime

JAVA_HINT = (
    "install it: Debian/Ubuntu 'sudo apt-get install openjdk-17-jre-headless', "
    "Fedora 'sudo dnf install java-17-openjdk-headless', macOS 'brew install openjdk@17'"
)
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "4g",
    # Spark looks for an interruption in the text of an error with a pattern that recurses for each
    # character; a Java trace of some pages ends the query without a word in stacks of a megabyte.
    "spark.driver.extraJavaOptions": "-Xss16m",
    "spark.python.worker.reuse": "true",
    # A worker that a busy machine leaves waiting for Java is not given up after 15 seconds.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # Our state and answers carry their own checksums; a second file per write costs two fsyncs.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # Times with statistics, so that footers tell the watermark; the default has none.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.log.level": "ERROR",
    # Plans and logs show the options of sources; a line of JAAS holds the password.
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|jaas",
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|token|access[.]?key|jaas",
}


def java_version() -> int | None:
    """Major version of the Java that Spark would use, or None."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")  # noqa: PTH118
    if java is None:
        return None
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(found[1]) if found else None


def check_java() -> None:
    """Raise MissingRuntime unless Java 17 or newer is there."""
    version = java_version()
    if version is None or version < 17:
        found = "no Java" if version is None else f"Java {version}"
        raise MissingRuntime("Spark needs Java 17 or newer", f"found {found}", JAVA_HINT)


def open_session(master: str | None = None, settings: dict[str, str] | None = None) -> SparkSession:
    """The session of this process; made on first use.

    Parameters
    ----------
    master
        Spark master; all local cores when None.
    settings
        Further Spark settings, which win over the defaults.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        running = active.sparkContext.master
        if master is not None and master != running:
            raise MissingRuntime(
                f"this process has a Spark session on {running}",
                f"asked for {master}",
                "stop that session first, or leave master out",
            )
        return active
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    options = dict(SETTINGS)
    # A driver on this machine only, or for a master that is, needs no address others can reach.
    if master is None or master.startswith(("local", "spark://127.0.0.1", "spark://localhost")):
        options["spark.driver.bindAddress"] = options["spark.driver.host"] = "127.0.0.1"
    options.update(settings or {})
    options.setdefault("spark.pyspark.python", sys.executable)
    jars = [given for given in options.get("spark.jars", "").split(",") if given]
    jars += [str(jar) for jar in cached_jars()]
    if jars:
        options["spark.jars"] = ",".join(jars)
    # Four tries per task: a worker that is killed is replaced and its share run again.
    builder = SparkSession.builder.appName("streamgauge")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is not None or not submitted:
        builder = builder.master(master or "local[*,4]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(options["spark.log.level"])
    return session
