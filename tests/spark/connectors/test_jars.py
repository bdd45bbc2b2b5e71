"""Connectors: found when fetched, an error that names the command when not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyspark
import pytest

from streamgauge.engine.spark import jars
from streamgauge.kernel.errors import BindError, MissingRuntime
from tests.connectors import needed_connector


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user that has fetched nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_was_not_fetched_names_its_command(empty: Path) -> None:
    assert jars.connector_jars("kafka") is None
    assert jars.cached_jars() == []
    with pytest.raises(MissingRuntime, match="streamgauge jars kafka") as refused:
        jars.needed_jars("kafka")
    assert pyspark.__version__ in refused.value.detail


def test_an_unknown_connector_lists_the_known() -> None:
    with pytest.raises(BindError, match="kafka, postgresql"):
        jars.connector_jars("oracle")


def test_what_was_fetched_is_found_and_not_fetched_again(empty: Path) -> None:
    place = empty / "streamgauge" / "jars" / f"postgresql-spark-{pyspark.__version__}"
    place.mkdir(parents=True)
    (place / "postgresql-42.7.8.jar").touch()
    told: list[str] = []
    assert jars.fetch("postgresql", tell=told.append) == [place / "postgresql-42.7.8.jar"]
    assert jars.cached_jars() == [place / "postgresql-42.7.8.jar"]
    assert told == [f"postgresql is here already: {place}"]


@pytest.mark.jvm
def test_a_name_that_is_not_published_leaves_nothing_behind(empty: Path, monkeypatch) -> None:
    if shutil.which("mvn") is None:
        pytest.skip("Maven is not here to be asked")
    nowhere = jars.Artifact("org.postgresql", "postgresql", "0.0.0-none")
    monkeypatch.setitem(jars.CONNECTORS, "postgresql", (nowhere,))
    with pytest.raises(MissingRuntime, match=r"0\.0\.0-none"):
        jars.fetch("postgresql")
    assert list((empty / "streamgauge" / "jars").iterdir()) == []


def test_older_jars_are_taken_only_when_asked_for() -> None:
    connector = jars.CONNECTORS["kafka"][0]
    assert jars._versions(connector, nearest=False) == [pyspark.__version__]
    asked = jars._versions(connector, nearest=True)
    assert asked[0] == pyspark.__version__
    assert asked[1:] == sorted(asked[1:], reverse=True)
    assert jars._versions(jars.CONNECTORS["postgresql"][0], nearest=True) == ["42.7.8"]


@pytest.mark.jvm
def test_a_session_has_what_was_fetched_before_it_began(spark, monkeypatch) -> None:
    needed_connector("kafka")
    jars.check_session(spark, "kafka")
    strange = [Path("elsewhere/spark-sql-strange.jar")]
    monkeypatch.setattr(jars, "needed_jars", lambda _: strange)
    with pytest.raises(MissingRuntime, match="start it again"):
        jars.check_session(spark, "kafka")
