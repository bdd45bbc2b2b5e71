"""What a gauge needs of a machine, one function per need."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.cli.draw import size
from streamgauge.engine.spark.session import java_version
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import read_json
from streamgauge.kernel.jit import cache_place
from streamgauge.kernel.private import why_not_private
from streamgauge.log.home import BY_TEXT, FORMAT

GIB = 2**30
JAVA_LEAST = 17
MEMORY_WANTED = 4 * GIB
DISK_WANTED, DISK_LEAST = 2 * GIB, GIB // 2
INSTALL_JAVA = {
    "Debian/Ubuntu": "sudo apt-get install -y openjdk-17-jre-headless",
    "Fedora": "sudo dnf install -y java-21-openjdk-headless",
    "macOS": 'brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)"',
}
# Package -> lowest version, first version that is too new, why it is needed.
PACKAGES = {
    "pyspark": ((4, 2), (5,), "the engine"),
    "pandas": ((2, 2), (3,), "PySpark refuses pandas 3"),
    "protobuf": ((6, 33), None, "PySpark's Python workers die without it"),
    "pyarrow": ((18, 1), None, "reads segments, writes answers"),
    "numba": ((0, 61), None, "compiles the kernels"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, what is wanted, and how to mend it: a command by system, '' for all."""

    name: str
    status: str
    found: str
    wanted: str
    fix: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "status": self.status,
            "found": self.found,
            "wanted": self.wanted,
            "fix": self.fix,
        }


def examine(home: Path) -> list[Finding]:
    """All findings, the most basic first."""
    needs: list[Callable[[], Finding]] = [
        python,
        java,
        *(_package_need(name) for name in PACKAGES),
        worker_python,
        memory,
        lambda: disk(home),
        cores,
        loopback,
        kernels,
        lambda: home_state(home),
    ]
    return [need() for need in needs]


def _package_need(name: str) -> Callable[[], Finding]:
    return lambda: package(name)


def python() -> Finding:
    """Python itself."""
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    return Finding(
        "Python",
        "ok" if good else "fail",
        f"{version} at {sys.executable}",
        "3.11 or newer",
        {
            "Debian/Ubuntu": "sudo apt-get install -y python3.11 python3.11-venv",
            "Fedora": "sudo dnf install -y python3.11",
            "macOS": "brew install python@3.11",
        },
    )


def java() -> Finding:
    """The Java that Spark would use."""
    version = java_version()
    place = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME {place}" if place else shutil.which("java") or "not on the PATH"
    good = version is not None and version >= JAVA_LEAST
    return Finding(
        "Java",
        "ok" if good else "fail",
        f"{'none' if version is None else version}, {where}",
        f"{JAVA_LEAST} or newer (--engine local works without)",
        INSTALL_JAVA,
    )


def package(name: str) -> Finding:
    """An installed package and its version."""
    low, high, why = PACKAGES[name]
    text = _dots(low) + " or newer" + (f", below {_dots(high)}" if high else "")
    bounds = f">={_dots(low)}" + (f",<{_dots(high)}" if high else "")
    fix = {"": f"{sys.executable} -m pip install '{name}{bounds}'"}
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "fail", "not installed", f"{text}: {why}", fix)
    parts = _numbers(version)
    good = parts >= low and (high is None or parts < high)
    return Finding(name, "ok" if good else "fail", version, f"{text}: {why}", fix)


def _dots(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version; a pre-release counts as its release."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def worker_python() -> Finding:
    """The interpreter that Spark's workers would use."""
    name, mine = "PYSPARK_PYTHON", "{}.{}".format(*sys.version_info[:2])
    chosen = os.environ.get(name)
    if not chosen:
        return Finding(name, "ok", "not set, workers use this interpreter", f"Python {mine}")
    ask = "import sys; print('{}.{}'.format(*sys.version_info[:2]))"
    try:
        said = subprocess.run(
            [chosen, "-c", ask], capture_output=True, text=True, check=False, timeout=20
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        said = f"does not run ({error})"
    return Finding(
        name,
        "ok" if said == mine else "fail",
        f"{chosen}: {said or 'says nothing'}",
        f"Python {mine}, as here",
        {"": f"unset {name}, or export {name}={sys.executable}"},
    )


def memory() -> Finding:
    """Memory that could be used now."""
    free = free_memory()
    if free is None:
        return Finding("memory", "warn", "cannot tell", f"{size(MEMORY_WANTED)} free")
    status = "ok" if free >= MEMORY_WANTED else "warn" if free >= MEMORY_WANTED // 4 else "fail"
    return Finding(
        "memory",
        status,
        f"{size(free)} free",
        f"{size(MEMORY_WANTED)} free",
        {"": 'end other programs, or set "spark.driver.memory" = "1g" under [spark]'},
    )


def free_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that programs can still have; all of the memory where the system does not tell."""
    try:
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def disk(home: Path) -> Finding:
    """Room where the home is, or would be."""
    place = _nearest(home)
    free = shutil.disk_usage(place).free
    status = "ok" if free >= DISK_WANTED else "warn" if free >= DISK_LEAST else "fail"
    return Finding(
        "disk",
        status,
        f"{size(free)} free at {place}",
        f"{size(DISK_WANTED)} free",
        {"": "remove files there, or choose another place with --home"},
    )


def _nearest(home: Path) -> Path:
    """The home, or the nearest directory above it that is there."""
    place = home.absolute()
    return next(path for path in (place, *place.parents) if path.is_dir())


def cores() -> Finding:
    """Processor cores."""
    count = os.cpu_count() or 1
    status = "ok" if count >= 2 else "warn"
    return Finding("cores", status, str(count), "2 or more", {"": "all works, more slowly"})


def loopback() -> Finding:
    """Whether processes here can talk to each other."""
    wanted = "a port on 127.0.0.1 can be opened and reached"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                return Finding("loopback", "ok", f"port {port} opened and reached", wanted)
    except OSError as error:
        return Finding(
            "loopback",
            "fail",
            str(error),
            wanted,
            {
                "Debian/Ubuntu": "sudo ip link set lo up; allow 127.0.0.1 in the firewall",
                "Fedora": "sudo ip link set lo up; allow 127.0.0.1 in the firewall",
                "macOS": "allow 127.0.0.1 in the firewall",
            },
        )


def kernels() -> Finding:
    """Where compiled kernels are kept between processes."""
    place = cache_place()
    why = why_not_private(place)
    return Finding(
        "kernel cache",
        "ok" if why is None else "warn",
        str(place) if why is None else f"{why}: kernels are compiled again in each process",
        "a directory that only this user can write, all the way up to /",
        {"": f"chmod go-w {place} and the directories above it, or set NUMBA_CACHE_DIR"},
    )


def home_state(home: Path) -> Finding:
    """Whether the home can be used by this release."""
    wanted = f"a directory this user may write, of format {BY_TEXT} or {FORMAT}"
    place, card = _nearest(home), home / "gauge.json"
    fix = {"": f"sudo chown -R $(id -u) {place}, or choose another home with --home"}
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return Finding("home", "fail", f"{place} is not writable", wanted, fix)
    if not card.exists():
        return Finding("home", "ok", f"{home} is not made yet", wanted)
    try:
        found = read_json(card)["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        fix = {"": f"streamgauge check --repair --home {home}, or choose another home with --home"}
        reason = error.detail if isinstance(error, StateTooOld) else f"{card}: {error}"
        return Finding("home", "fail", f"cannot be read: {reason}", wanted, fix)
    fix = {"": "use the release that wrote it, or choose another home with --home"}
    status = "ok" if found in (BY_TEXT, FORMAT) else "fail"
    return Finding("home", status, f"{home} is of format {found}", wanted, fix)
