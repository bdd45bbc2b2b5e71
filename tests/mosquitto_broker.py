"""A real Mosquitto on loopback, for tests; it keeps its port and its data over a restart."""

from __future__ import annotations

import shutil
import signal
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from streamgauge.checks.waiting import wait_until

PATIENCE = 60
USER = "agent"


class Mosquitto:
    """A broker on a port of its own.

    Parameters
    ----------
    directory
        Where its settings and its data are.
    port
        A free one when 0.
    password
        Of the user `agent`; anyone may come when there is none.
    keeps
        Whether sessions and what waits for them outlive a stop; without limit.
    tls
        Certificate and key to serve with.
    """

    def __init__(
        self,
        directory: Path,
        port: int = 0,
        *,
        password: str | None = None,
        keeps: bool = False,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        self.program = mosquitto()
        self.port = port or free_port()
        self.tls = tls
        self.settings = directory / "mosquitto.conf"
        lines = [f"listener {self.port} 127.0.0.1", "log_type error", "user root"]
        if tls is not None:
            lines += [f"certfile {tls[0]}", f"keyfile {tls[1]}"]
        if keeps:
            lines += ["persistence true", f"persistence_location {directory}/"]
            lines += ["max_queued_messages 0", "max_queued_bytes 0"]
        else:
            lines.append("persistence false")
        lines.append(f"allow_anonymous {'true' if password is None else 'false'}")
        if password is not None:
            lines.append(f"password_file {self._passwords(directory, password)}")
        self.settings.write_text("\n".join(lines) + "\n")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'mqtt' if self.tls is None else 'mqtts'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self.settings.with_suffix(".log").open("ab") as log:
            command = [self.program, "-c", str(self.settings)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self.listens, PATIENCE, what="the broker to listen")

    def stop(self) -> None:
        """Let it end by itself; one that keeps its data writes it down."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as found:
                if self.tls is not None:
                    ssl._create_unverified_context().wrap_socket(found).close()
        except OSError:
            return False
        return True

    def __enter__(self) -> Mosquitto:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()

    def _end(self, how: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(how)
            process.wait(PATIENCE)

    def _passwords(self, directory: Path, password: str) -> Path:
        passwords = directory / "passwords"
        passwords.touch(mode=0o600)
        tool = str(Path(self.program).with_name("mosquitto_passwd"))
        tool = shutil.which("mosquitto_passwd") or tool
        subprocess.run([tool, "-b", str(passwords), USER, password], check=True)
        return passwords


def mosquitto() -> str:
    """Path of the broker; the test is skipped where there is none."""
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("needs Mosquitto: apt install mosquitto, or brew install mosquitto")
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
