"""A real PostgreSQL server on loopback, for tests: in a directory of its own, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from streamgauge.checks.waiting import wait_until

DEBIAN = Path("/usr/lib/postgresql")
SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    # What a test loses when the machine dies, it makes anew; a killed server still loses nothing.
    "fsync=off",
    "shared_buffers=32MB",
    "max_connections=40",
)


@dataclass
class PostgresServer:
    """A server that can be stopped and started again over the same data.

    Parameters
    ----------
    data
        Its directory.
    port
        Where it listens on 127.0.0.1.
    program
        How it is called, as a user that is not root.
    """

    data: Path
    port: int
    program: tuple[str, ...]
    user: str = "postgres"
    password: str = "secret of the tests"
    database: str = "postgres"
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Where it is, without the password: libpq takes that from PGPASSWORD or a file."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{self.database}"

    @property
    def whole_url(self) -> str:
        """Where it is, with the password."""
        password = self.password.replace(" ", "%20")
        return f"postgresql://{self.user}:{password}@127.0.0.1:{self.port}/{self.database}"

    @property
    def sink_url(self) -> str:
        """Where it is, with the file of the password."""
        return self.url.replace("@", f":{{file:{self.data.parent / 'password'}}}@")

    @property
    def jdbc_url(self) -> str:
        """Where it is, as Java spells it; user and password go beside it."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"

    def start(self) -> None:
        """Serve, and wait until connections are taken."""
        command = [*self.program, "-D", str(self.data), "-p", str(self.port)]
        for setting in SETTINGS:
            command += ["-c", setting]
        with (self.data / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.data)
        wait_until(self._takes, 60, what="the PostgreSQL server")

    def stop(self) -> None:
        """End it at once, as a failing machine would: open transactions are lost, nothing else."""
        if self._process is not None and self._process.poll() is None:
            # The postmaster is the process itself or, under setpriv, what it became.
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
        self._process = None

    def _takes(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError((self.data / "server.log").read_text()[-2000:])
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", self.port)):
                return False
        return (self.data / "postmaster.pid").read_text().splitlines()[-1].strip() == "ready"


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """Run a server with one superuser, `postgres`, who has to give a password."""
    initdb, server = _program("initdb"), _program("postgres")
    as_user, owner = _as_user()
    # Not below pytest's own directory, which only root may enter.
    place = Path(tempfile.mkdtemp(prefix="streamgauge-postgres-"))
    try:
        password = place / "password"
        password.write_text(PostgresServer.password)
        if owner is not None:
            for path in (place, password):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        data = place / "data"
        make = [*as_user, initdb, "-D", str(data), "-U", "postgres", "--no-sync", "--no-locale"]
        make += ["-E", "UTF8", "--auth=scram-sha-256", f"--pwfile={password}"]
        done = subprocess.run(make, capture_output=True, text=True, cwd=place, timeout=120)
        if done.returncode:
            pytest.skip(f"initdb could not make a PostgreSQL server: {done.stderr[-300:]}")
        running = PostgresServer(data, _free_port(), (*as_user, server))
        try:
            running.start()
            yield running
        finally:
            running.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _program(name: str) -> str:
    """Where a program of the server is: Debian keeps them beside each other by version."""
    beside = sorted(DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    found = str(beside[-1]) if beside else shutil.which(name)
    if found is None:
        pytest.skip("PostgreSQL is not here: apt-get install postgresql")
    return found


def _as_user() -> tuple[tuple[str, ...], pwd.struct_passwd | None]:
    """What to put before a command so that it does not run as root, which the server refuses."""
    if os.geteuid() != 0:
        return (), None
    setpriv = shutil.which("setpriv")
    try:
        owner = pwd.getpwnam("postgres")
    except KeyError:
        owner = None
    if setpriv is None or owner is None:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres or no setpriv")
    who = (f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups")
    return (setpriv, *who), owner


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
