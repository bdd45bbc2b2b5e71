"""The commands of docs/how-to/serve.md, run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
STRICT = 'set -eu\ncurl() { command curl --fail-with-body --max-time 60 "$@"; echo; }\n'


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 5
    home = tmp_path / "home"
    with (
        sg.connect(home, engine="local") as gauge,
        Server(gauge, Settings.of("http://127.0.0.1:0")) as server,
    ):
        environment = {
            **os.environ,
            "URL": server.address,
            "AUTH": f"Authorization: Bearer {server.token}",
        }
        for block in BLOCKS:
            done = subprocess.run(
                ["bash", "-c", STRICT + block],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, block + done.stdout + done.stderr
