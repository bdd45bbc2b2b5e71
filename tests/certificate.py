"""A certificate for servers of tests on this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate of this machine that signs itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    command += ["/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key
