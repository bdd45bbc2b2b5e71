"""Attacks by statements that name Python functions: none may run what the operator did not list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.errors import BindError, EngineFailure
from streamgauge.language.statements import CreateFunction
from streamgauge.operators.function_process import PROCESS
from streamgauge.operators.functions import Function, in_force
from streamgauge.operators.own_functions import aggregate_own, call_own
from streamgauge.server.statements import role_of

MODULE = """
import os
import os.path as paths
import time
from importlib import reload
from subprocess import call

CONSTANT = 3.0

class Model:
    def __call__(self, x):
        return x

def double(x):
    return x * 2

def secret(x):
    import os
    return [os.environ.get("BROKER_PASSWORD", "none")] * len(x)

def fail(x):
    raise KeyError("no such sensor")

def wait(x):
    time.sleep(60)

def spin(x):
    while True:
        pass

def grow(x):
    return bytearray(8 << 30)

def leave(x):
    os._exit(3)

def write(x):
    with open(PLACE, "w") as file:
        file.write("here")

def total(values):
    return values.sum()

def _hidden(x):
    return x
"""
COLUMN = [("float", pa.array([1.0, 2.0]))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modules")


@pytest.fixture(autouse=True, scope="module")
def listed(folder: Path) -> Iterator[str]:
    text = MODULE.replace("PLACE", repr(str(folder / "written")))
    (folder / "listed_here.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        # A new process of functions finds the module.
        PROCESS.close()
        yield "listed_here"
    PROCESS.close()


def opened(tmp_path: Path, *listed: str) -> sg.Gauge:
    return sg.connect(tmp_path / "home", engine="local", allow_functions=listed)


@pytest.mark.parametrize(
    "target",
    [
        "subprocess:call", "os:system", "builtins:eval", "builtins:__import__", "importlib:reload",
        "LISTED:os.system", "LISTED:paths.os.system", "LISTED.os:system", "LISTED:__import__",
        "LISTED:__builtins__", "LISTED:_hidden", "LISTED:double.__globals__", "LISTED:call",
        "LISTED:reload", "LISTED:os", "LISTED:Model", "LISTED:CONSTANT", "LISTED:absent",
        "LISTED:", "LISTED", ":double", "<callable>:double", "../LISTED:double", "LISTED:double ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["FUNCTION", "AGGREGATE"])
def test_a_statement_names_only_what_is_listed(
    tmp_path: Path, listed: str, target: str, kind: str
) -> None:
    gauge = opened(tmp_path, listed)
    with pytest.raises(BindError) as raised:
        gauge.sql(f"CREATE {kind} f RETURNS float AS '{target.replace('LISTED', listed)}'")
    assert raised.value.detail
    assert raised.value.hint
    assert not gauge.trial().registry.functions


def test_nothing_is_listed_by_default(tmp_path: Path, listed: str) -> None:
    with pytest.raises(BindError, match="is not allowed"):
        opened(tmp_path).sql(f"CREATE FUNCTION f AS '{listed}:double'")
    with pytest.raises(BindError, match="cannot allow"):
        opened(tmp_path, "os system")


def test_a_record_of_another_process_does_not_run_either(tmp_path: Path, listed: str) -> None:
    function = Function("f", f"{listed}:double")
    with in_force(Allowed.of(["numpy"])), pytest.raises(BindError, match="is not allowed"):
        call_own(function, COLUMN)
    with pytest.raises(BindError, match="is not allowed"):
        aggregate_own(function, pa.array([[1.0]]))


def test_what_is_listed_runs_apart(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", "canary")
    with in_force(Allowed.of([listed])):
        assert call_own(Function("f", f"{listed}:double"), COLUMN).to_pylist() == [2.0, 4.0]
        kept = call_own(Function("f", f"{listed}:secret", "string"), COLUMN)
        assert kept.to_pylist() == ["none", "none"]
        groups = pa.array([[1.0, 2.0], [5.0]])
        assert aggregate_own(Function("t", f"{listed}:total", "float", True), groups) == [3.0, 5.0]


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("fail", "KeyError: 'no such sensor'"),
        ("wait", "longer than 0.3 s"),
        ("grow", "MemoryError"),
        ("leave", "status 3"),
        ("write", "OSError"),
    ],
)
def test_limits_end_a_call_and_not_the_job(
    folder: Path, listed: str, name: str, detail: str
) -> None:
    allowed = Allowed((listed,), batch_seconds=0.3 if name == "wait" else 20.0)
    with in_force(allowed):
        assert call_own(Function("f", f"{listed}:double"), COLUMN).to_pylist() == [2.0, 4.0]
        with pytest.raises(EngineFailure) as raised:
            call_own(Function(name, f"{listed}:{name}"), COLUMN)
        assert raised.value.what == f"function {name!r} failed"
        assert detail in raised.value.detail
        with in_force(Allowed((listed,))):
            assert call_own(Function("f", f"{listed}:double"), COLUMN).to_pylist() == [2.0, 4.0]
    written = folder / "written"
    assert not written.exists() or not written.read_bytes()


@pytest.mark.slow
def test_cpu_time_is_limited(listed: str) -> None:
    with in_force(Allowed((listed,), cpu_seconds=0.1)), pytest.raises(EngineFailure) as raised:
        call_own(Function("spin", f"{listed}:spin"), COLUMN)
    assert "CPU time" in raised.value.detail


def test_a_fork_starts_a_process_of_its_own(listed: str) -> None:
    with in_force(Allowed.of([listed])):
        function = Function("f", f"{listed}:double")
        assert call_own(function, COLUMN).to_pylist() == [2.0, 4.0]
        child = os.fork()
        if child == 0:
            os._exit(0 if call_own(function, COLUMN).to_pylist() == [2.0, 4.0] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert call_own(function, COLUMN).to_pylist() == [2.0, 4.0]


def test_a_callable_of_the_program_is_called_here(tmp_path: Path) -> None:
    gauge = opened(tmp_path)
    gauge.stream("plant", source=sg.plant(n_sensors=2), key="series", time="ts")
    gauge.function("half", lambda x: x / 2)
    gauge.sql("CREATE QUERY q AS SELECT half(value) AS v FROM plant [NOW]")
    assert gauge.trial().registry.functions["half"].target.startswith("<callable>:")


def test_creating_functions_is_a_role_of_its_own() -> None:
    assert role_of(CreateFunction("f", "numpy:hypot")) == "functions"
