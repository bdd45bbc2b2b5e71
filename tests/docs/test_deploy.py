"""Files for deployment: held against the schemas of what reads them. None of them is run here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamgauge.cli.app import main

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).resolve().parents[2] / "docs" / "deploy"
COMPOSE, KUBERNETES = DEPLOY / "compose.yaml", DEPLOY / "kubernetes.yaml"
DOCKERFILE = DEPLOY / "Dockerfile"
RULES = "{extends: default, rules: {line-length: {max: 110}}}"
YAML = ("yamllint", "--strict", "-d", RULES)
SPEC = ("check_jsonschema", "--builtin-schema", "vendor.compose-spec")
MANIFEST = ("kubernetes_validate", "--strict", "-k", "1.33")


def lint(tool: tuple[str, ...], path: Path) -> subprocess.CompletedProcess[str]:
    """Run a linter that is a Python module; skip where it is not installed."""
    if find_spec(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    command = [sys.executable, "-m", *tool, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hadolint(path: Path) -> subprocess.CompletedProcess[str]:
    """Run hadolint, a program of its own beside the interpreter."""
    program = Path(sys.executable).with_name("hadolint")
    if not program.exists():
        pytest.skip("hadolint is not installed")
    return subprocess.run(
        [str(program), "--no-color", str(path)], capture_output=True, text=True, check=False
    )


def passes(found: subprocess.CompletedProcess[str]) -> bool:
    return found.returncode == 0 and "Error" not in found.stderr


@pytest.mark.parametrize("path", [COMPOSE, KUBERNETES], ids=lambda path: path.name)
def test_yaml_is_tidy(path: Path, tmp_path: Path) -> None:
    found = lint(YAML, path)
    assert passes(found), found.stdout + found.stderr
    twice = tmp_path / "twice.yaml"
    twice.write_text("---\na: 1\na: 2\n")
    assert not passes(lint(YAML, twice))


def test_compose_fits_its_schema(tmp_path: Path) -> None:
    found = lint(SPEC, COMPOSE)
    assert passes(found), found.stdout + found.stderr
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text().replace("depends_on:", "depend_on:"))
    assert not passes(lint(SPEC, wrong))


def test_manifest_fits_the_schema_of_kubernetes(tmp_path: Path) -> None:
    found = lint(MANIFEST, KUBERNETES)
    assert passes(found), found.stdout + found.stderr
    wrong = tmp_path / "kubernetes.yaml"
    wrong.write_text(KUBERNETES.read_text().replace("serviceName: job", "serviceNames: job"))
    assert not passes(lint(MANIFEST, wrong))


def test_dockerfile_is_tidy(tmp_path: Path) -> None:
    found = hadolint(DOCKERFILE)
    assert passes(found), found.stdout + found.stderr
    wrong = tmp_path / "Dockerfile"
    wrong.write_text("FROM debian\nRUN cd /tmp && sudo make\n")
    assert not passes(hadolint(wrong))


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return found


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text()))


def containers() -> list[dict[str, Any]]:
    pods = [m["spec"]["template"]["spec"] for m in manifests() if "template" in m.get("spec", {})]
    return [container for pod in pods for container in pod["containers"]]


def test_commands_have_the_options_that_are_written() -> None:
    """What is said to `streamgauge` is known to it, in both files."""
    said = [compose()["services"]["job"]["command"]]
    said += [[*c["command"], *c["args"]] for c in containers() if c["name"] == "job"]
    assert len(said) == 2
    for words in said:
        assert words[0] == "streamgauge"
        command = main.get_command(None, words[1])  # type: ignore[arg-type]
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_names_that_are_used_are_defined() -> None:
    described = compose()
    volumes, services = set(described["volumes"]), described["services"]
    for service in services.values():
        named = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert named <= volumes
        assert set(service.get("depends_on", [])) <= set(services)
    claims = {m["metadata"]["name"] for m in manifests() if m["kind"] == "PersistentVolumeClaim"}
    used = set(re.findall(r"claimName: (\S+)", KUBERNETES.read_text()))
    assert used == claims
    heads = {m["metadata"]["name"] for m in manifests() if m["kind"] == "Service"}
    assert set(re.findall(r"spark://([a-z]+):", json.dumps(manifests()))) <= heads


def test_one_pod_runs_the_home() -> None:
    jobs = [m for m in manifests() if m["metadata"]["name"] == "job" and m["kind"] != "Service"]
    assert [(job["kind"], job["spec"]["replicas"]) for job in jobs] == [("StatefulSet", 1)]


def test_the_image_has_what_it_copies() -> None:
    root = DEPLOY.parents[1]
    copied = re.findall(r"^COPY (.+) \S+$", DOCKERFILE.read_text(), re.MULTILINE)
    for name in " ".join(copied).split():
        assert (root / name).exists(), name
