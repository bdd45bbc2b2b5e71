"""A real Kafka broker in KRaft mode on loopback; its jars come by name through Maven."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import MissingRuntime
from streamgauge.kernel.private import why_not_private

VERSION = "3.9.1"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies>
<dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
</dependency>
<dependency>
<groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
</dependency>
</dependencies>
</project>
"""
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={doors},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={doors}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=200
log.retention.ms=-1
num.partitions=1
"""
GUARDED = """sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={module} required \\
    username="{user}" password="{password}" user_{user}="{password}";
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={cert}
"""
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True, slots=True)
class Guard:
    """Whom a broker lets in, over TLS: a user with a password; files of its certificate and key."""

    user: str
    password: str
    cert: Path
    key: Path

    def settings(self, directory: Path) -> str:
        """What a broker has to be told."""
        keystore = directory / "keystore.pem"
        keystore.write_text(self.key.read_text() + self.cert.read_text())
        return GUARDED.format(
            module=PLAIN,
            user=self.user,
            password=self.password,
            keystore=keystore,
            cert=self.cert,
        )


def jars() -> Path:
    """Directory of the broker's jars; fetched once for all runs of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    place = cache / "streamgauge" / f"kafka-broker-{VERSION}"
    why = why_not_private(place if place.exists() else place.parent)
    if why is not None:
        raise _missing(f"its jars cannot be kept privately: {why}")
    if not place.exists():
        maven = shutil.which("mvn")
        if maven is None:
            raise _missing("Maven is not here to fetch its jars")
        building = place.with_name(f"{place.name}.{uuid.uuid4().hex}")
        building.mkdir(parents=True)
        (building / "pom.xml").write_text(POM)
        command = [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=."]
        done = subprocess.run(command, cwd=building, capture_output=True, text=True, timeout=400)
        if done.returncode:
            shutil.rmtree(building)
            raise _missing(f"Maven could not fetch its jars: {done.stdout[-300:]}")
        try:
            building.rename(place)
        except OSError:
            # Another run was faster.
            shutil.rmtree(building)
    return place


class Broker:
    """A broker on one directory and its ports, which can be stopped and started again.

    Parameters
    ----------
    directory
        Where its records are; they outlast a stop.
    guard
        Whom it lets in by a second port, `guarded`; there is none when None.
    java_options
        Further options of its JVM.
    """

    def __init__(
        self, directory: Path, guard: Guard | None = None, java_options: Sequence[str] = ()
    ) -> None:
        java = shutil.which("java")
        if java is None:
            raise _missing("Java is not here to run it")
        self.directory = directory
        self.port, guarded, controller = _free_ports(3)
        self.address, self.guarded = f"127.0.0.1:{self.port}", f"127.0.0.1:{guarded}"
        self._settings = directory / "server.properties"
        doors = f"PLAINTEXT://{self.address}" + (f",SASL_SSL://{self.guarded}" if guard else "")
        logs = directory / "kafka-logs"
        plain = SETTINGS.format(doors=doors, controller=controller, logs=logs)
        self._settings.write_text(plain + (guard.settings(directory) if guard else ""))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        self._program = [java, "-Xmx384m", *java_options, quiet, "-cp", f"{jars()}/*"]
        self._running: subprocess.Popen[bytes] | None = None
        # Its first letter is A: an id that begins with a dash would be read as an option.
        number = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        storage = ["kafka.tools.StorageTool", "format", "-t", number, "-c", str(self._settings)]
        subprocess.run([*self._program, *storage], check=True, capture_output=True, timeout=120)

    def start(self) -> None:
        """Start it, on what it had when it was stopped; return when it listens."""
        with (self.directory / "kafka.log").open("ab") as log:
            command = [*self._program, "kafka.Kafka", str(self._settings)]
            running = self._running = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(
            lambda: running.poll() is not None or _listens(self.port), 120, what="the Kafka broker"
        )
        assert running.poll() is None, f"the Kafka broker ended: {self.log()}"

    def log(self) -> str:
        """The last that it said."""
        return (self.directory / "kafka.log").read_text(errors="replace")[-3000:]

    def stop(self) -> None:
        """Kill it."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


def _missing(why: str) -> MissingRuntime:
    return MissingRuntime("no Kafka broker can be run", why, "install Java 17 and Maven")


def _free_ports(n: int) -> list[int]:
    """Ports that are free and lie below those that the system gives to clients.

    While a broker is away, its port must not become the end of somebody's connection: it could
    not come back, and a client that tries it over and over would in the end connect to itself.
    """
    found: list[int] = []
    while len(found) < n:
        port = 15_000 + uuid.uuid4().int % 17_000
        if port not in found and not _listens(port):
            found.append(port)
    return found


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
