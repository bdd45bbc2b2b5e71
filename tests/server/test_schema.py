"""Whatever is sent, the server says what is wrong with it: no request ends in a 5xx."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import content_type_conformance, not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import response_schema_conformance

import streamgauge as sg
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner

pytestmark = pytest.mark.slow

# Feeds do not end by themselves, health says 503 of a home without a job, and bodies of rows have
# tests of their own.
LEFT_OUT = ("/live", "/health", "/rows")
EXAMPLES = 4
Described = tuple[BaseSchema, dict[str, str]]
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def described(answered: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    """A server that all examples share; its home has no job, so nothing declared is run."""
    home = shutil.copytree(answered, tmp_path_factory.mktemp("fuzzed") / "home")
    with (
        sg.connect(home, engine="local") as gauge,
        Server(gauge, Settings.of("http://127.0.0.1:0")) as server,
    ):
        yield (
            schemathesis.openapi.from_url(f"{server.address}/v1/openapi.json"),
            as_owner(server),
        )


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_ends_in_a_5xx(described: Described, mode: GenerationMode) -> None:
    schema, owner = described
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if not operation.path.endswith(LEFT_OUT):
            _try(operation, mode, owner)
            tried += 1
    assert tried > 20


def _try(operation: APIOperation, mode: GenerationMode, owner: dict[str, str]) -> None:
    known = st.sampled_from((None, "newest", "sites", "large", "rows"))

    @given(case=operation.as_strategy(generation_mode=mode), name=known)
    @settings(
        max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    def serve(case: Case, name: str | None) -> None:
        if name is not None and "name" in case.path_parameters:
            case.path_parameters["name"] = name
        response = case.call(timeout=60, headers=owner)
        case.validate_response(response, checks=CHECKS)

    serve()
