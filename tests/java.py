"""How tests start Java: for minutes, not for days.

Half of what a start of Spark costs is reading some ten thousand classes out of jars. The first run
writes them to a file of the environment as Java keeps them in memory (class data sharing), and
each later one maps that file: `python -m tests.java` does so where there is none that Java takes.
Java takes none of another version of itself, nor one whose jars lay elsewhere or have changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark
from pyspark import SparkContext

from streamgauge.engine.spark.session import SETTINGS, open_session

# A JVM of a few minutes never earns back what its second compiler costs.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
DRIVER = "spark.driver.extraJavaOptions"


def archive() -> Path:
    """The file of classes for the Spark of this environment."""
    return Path(sys.prefix) / f"spark-{pyspark.__version__}.jsa"


def spark_options() -> tuple[str, ...]:
    """Options of a JVM that runs Spark; one that cannot use the classes says nothing."""
    found = archive()
    shared = (f"-XX:SharedArchiveFile={found}", "-Xlog:disable") if found.exists() else ()
    return (*QUICK, *shared)


def driver_options() -> dict[str, str]:
    """The setting of a driver that is started for a test."""
    return {DRIVER: " ".join((SETTINGS[DRIVER], *spark_options()))}


def usable(found: Path) -> bool:
    """Whether the Java that Spark starts maps a file of classes; a driver would not say."""
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    # Half a file makes Java itself crash, and what it would leave is of no use.
    tries = (*QUICK, "-Xshare:on", f"-XX:SharedArchiveFile={found}", "-XX:ErrorFile=/dev/null")
    tried = subprocess.run(
        [submit, "--version"],
        env={**os.environ, "SPARK_SUBMIT_OPTS": " ".join(tries)},
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


def write_archive() -> None:
    """Run a job on Spark, and have Java write down all classes that it used."""
    # Not above: what runs the job asks this module for options.
    from tests.chaos import killing, victim

    found = archive()
    partial = found.with_suffix(f".{os.getpid()}")
    written = (f"-XX:ArchiveClassesAtExit={partial}", "-Xlog:disable")
    victim.SPARK[DRIVER] = " ".join((victim.SPARK[DRIVER], *written))
    with tempfile.TemporaryDirectory() as place:
        files = killing.plant_files(Path(place) / "files", n_files=2)
        victim.main(f"{place}/home", str(files), "spark", killing.MASTER)
        open_session().stop()
        # Java writes when it ends, and it ends when nobody can tell it more.
        gateway = SparkContext._gateway
        assert gateway is not None
        gateway.proc.stdin.close()
        gateway.proc.wait()
    partial.rename(found)


if __name__ == "__main__":
    if not usable(archive()):
        # Java that was to map it would not write another one.
        archive().unlink(missing_ok=True)
        print("Java writes down the classes of Spark, once, so that tests start it sooner")
        write_archive()
