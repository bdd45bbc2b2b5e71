"""Jars: connectors that Spark does not ship with, fetched by name once and found by the session.

Nothing is fetched when a session starts: what lies in the cache of the user is used, and a missing
connector is an error that names the command which fetches it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from streamgauge.kernel.errors import BindError, MissingRuntime
from streamgauge.kernel.private import private_directory, why_not_private

FETCH_SECONDS = 400
# Releases of Spark, newest first: where a connector of the release in use is not published, an
# older one of the same major version may be taken, if the user says so.
RELEASES = ("4.3.0", "4.2.0", "4.1.1", "4.1.0", "4.0.1", "4.0.0")
SAME_AS_SPARK = ""
# What Ivy is asked to do in a process of its own: it prints to wherever it likes.
_IVY = """
import sys
from pyspark.sql import SparkSession
names, place = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.jars.packages", names)
builder.config("spark.jars.ivy", place).config("spark.ui.enabled", "false").getOrCreate().stop()
"""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A jar by its name in the registries of Java; without a version, that of Spark is meant.

    Examples
    --------
    >>> Artifact("org.postgresql", "postgresql", "42.7.8").coordinates("42.7.8")
    'org.postgresql:postgresql:42.7.8'
    """

    group: str
    name: str
    version: str = SAME_AS_SPARK

    def coordinates(self, version: str) -> str:
        """Its full name, of a version."""
        return f"{self.group}:{self.name}:{version}"


# Each with all it needs beyond what Spark has: names are resolved one by one, so that whatever
# repositories their own descriptions mention need not be reachable.
CONNECTORS: dict[str, tuple[Artifact, ...]] = {
    "kafka": (
        Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13"),
        Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13"),
        Artifact("org.apache.kafka", "kafka-clients", "3.9.2"),
        Artifact("org.apache.commons", "commons-pool2", "2.13.1"),
    ),
    "postgresql": (Artifact("org.postgresql", "postgresql", "42.7.8"),),
}


def cache() -> Path:
    """Directory of all fetched connectors of this user."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "streamgauge" / "jars"


def connector_jars(name: str) -> list[Path] | None:
    """Jars of a connector for this release of Spark; None when they were not fetched."""
    _known(name)
    place = _place(name)
    # A jar is code: one that others could have put there is not taken.
    return sorted(place.glob("*.jar")) if place.is_dir() and private_directory(place) else None


def cached_jars() -> list[Path]:
    """Jars of all connectors that were fetched, for the session to take along."""
    return [jar for name in CONNECTORS for jar in connector_jars(name) or ()]


def needed_jars(name: str) -> list[Path]:
    """Jars of a connector, or a MissingRuntime that names the command to fetch them."""
    jars = connector_jars(name)
    if jars is None:
        _refuse_shared(_place(name))
        raise MissingRuntime(
            f"Spark's connector {name!r} is not here",
            f"no jars of it for Spark {pyspark.__version__} in {cache()}",
            f"fetch them once with: streamgauge jars {name}; then start again",
        )
    return jars


def check_session(session: Any, name: str) -> None:
    """Raise unless a session was started with the jars of a connector."""
    wanted = needed_jars(name)
    settings = session.sparkContext.getConf()
    taken = f"{settings.get('spark.jars', '')},{settings.get('spark.driver.extraClassPath', '')}"
    missing = [jar.name for jar in wanted if jar.name not in taken]
    if missing and not settings.get("spark.jars.packages", ""):
        raise MissingRuntime(
            f"this Spark session began without the connector {name!r}",
            f"it lacks {', '.join(missing)}",
            "stop the job and start it again: a session takes jars along when it begins",
        )


def fetch(name: str, *, nearest: bool = False, tell: Tell = lambda _: None) -> list[Path]:
    """Fetch a connector into the cache, by Maven where it is there, else by Spark itself.

    Parameters
    ----------
    name
        A connector of `CONNECTORS`.
    nearest
        Where the registry has no jar of the release of Spark in use, take the newest older one of
        the same major version.
    tell
        Is told each step.
    """
    artifacts = _known(name)
    place = _place(name)
    _refuse_shared(place if place.is_dir() else cache())
    if place.is_dir():
        tell(f"{name} is here already: {place}")
        return sorted(place.glob("*.jar"))
    building = place.with_name(f".{place.name}.{uuid.uuid4().hex}")
    building.mkdir(parents=True, mode=0o700)
    try:
        maven = shutil.which("mvn")
        if maven is None:
            tell("Maven is not here; Spark fetches the jars itself")
            _by_spark(artifacts, building)
        else:
            for artifact in artifacts:
                _by_maven(maven, artifact, building, nearest=nearest, tell=tell)
        if not place.is_dir():
            building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    tell(f"{name}: {len(artifacts)} jars in {place}")
    return sorted(place.glob("*.jar"))


def _refuse_shared(place: Path) -> None:
    """Raise where a directory of jars is there and somebody else could put jars into it."""
    why = why_not_private(place) if place.exists() or place == cache() else None
    if why is not None:
        raise MissingRuntime(
            "the directory of Spark's connectors is not private",
            why,
            f"let only this user write to {place} and all directories above it, or set "
            "XDG_CACHE_HOME to a directory of your own",
        )


def _known(name: str) -> tuple[Artifact, ...]:
    if name not in CONNECTORS:
        raise BindError(
            f"unknown connector {name!r}",
            f"connectors are {', '.join(CONNECTORS)}",
            f"write streamgauge jars {next(iter(CONNECTORS))}, for example",
        )
    return CONNECTORS[name]


def _place(name: str) -> Path:
    return cache() / f"{name}-spark-{pyspark.__version__}"


def _versions(artifact: Artifact, *, nearest: bool) -> list[str]:
    """Versions to ask for, the one wanted first."""
    if artifact.version != SAME_AS_SPARK:
        return [artifact.version]
    wanted = pyspark.__version__
    major = wanted.split(".")[0]
    older = [v for v in RELEASES if v.split(".")[0] == major and _parts(v) < _parts(wanted)]
    return [wanted, *older] if nearest else [wanted]


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _by_maven(maven: str, artifact: Artifact, place: Path, *, nearest: bool, tell: Tell) -> None:
    versions = _versions(artifact, nearest=nearest)
    for version in versions:
        coordinates = artifact.coordinates(version)
        tell(f"fetching {coordinates}")
        said = _run_maven(maven, coordinates, place)
        if said is None:
            if version != versions[0]:
                tell(f"{artifact.name}: {version} stands in for {versions[0]}, which is not there")
            return
    instead = "" if nearest or len(RELEASES) == 1 else ", or take older jars with --nearest"
    raise MissingRuntime(
        f"{artifact.coordinates(versions[0])} cannot be fetched",
        said or "Maven did not say why",
        f"check the network and the name of the release{instead}",
    )


def _run_maven(maven: str, coordinates: str, place: Path) -> str | None:
    """Copy one jar into a directory; what Maven complains of, or None."""
    # -U asks again for what was not there some time ago; failures are remembered for a day.
    command = [
        maven, "-B", "-q", "-U", "dependency:copy", f"-Dartifact={coordinates}",
        f"-DoutputDirectory={place}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"Maven took longer than {FETCH_SECONDS} s"
    if done.returncode == 0:
        return None
    wrong = re.search(r"\[ERROR\] (.*)", done.stdout + done.stderr)
    return (wrong[1] if wrong else done.stdout)[-400:].strip()


def _by_spark(artifacts: tuple[Artifact, ...], place: Path) -> None:
    """Let Spark resolve the names; it takes what they need along."""
    names = ",".join(a.coordinates(a.version or pyspark.__version__) for a in artifacts)
    command = [sys.executable, "-c", _IVY, names, str(place / "ivy")]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
        said = done.stderr if done.returncode else ""
    except subprocess.TimeoutExpired:
        said = f"it took longer than {FETCH_SECONDS} s"
    found = sorted((place / "ivy").glob("**/jars/*.jar"))
    if said or not found:
        raise MissingRuntime(
            "Spark could not fetch the jars", said[-400:].strip() or names, "install Maven"
        )
    for jar in found:
        # Ivy puts the group before the name.
        jar.rename(place / jar.name.partition("_")[2])
    shutil.rmtree(place / "ivy")
