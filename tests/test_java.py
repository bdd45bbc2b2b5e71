"""Classes of Spark that tests map: used where Java takes them, written anew where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java import archive, usable

pytestmark = pytest.mark.jvm


def test_no_file_is_not_usable(tmp_path: Path) -> None:
    assert not usable(tmp_path / "absent.jsa")


def test_a_file_that_java_refuses_is_not_usable(tmp_path: Path) -> None:
    if not archive().exists():
        pytest.skip("no classes were written here: `make classes` does")
    whole = archive().read_bytes()
    (tmp_path / "cut.jsa").write_bytes(whole[: len(whole) // 2])
    assert usable(archive())
    assert not usable(tmp_path / "cut.jsa")
