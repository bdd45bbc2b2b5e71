"""The list of planted faults fits the tree, and the tool that plants them says what it should."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.candidates import Reach, grouped, likely
from tools.fault_list import LIST, ROOT, Fault, load_faults, with_catchers
from tools.forking import Forks
from tools.seed_faults import Plan, Tried, write

FAULTS = load_faults()
CAUGHT = [fault for fault in FAULTS if fault.caught_by]


def test_there_are_enough_of_them_and_names_are_unique() -> None:
    assert len(FAULTS) >= 100
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert all(fault.reason for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_the_tree(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    planted = fault.planted(text)
    assert planted != text
    if fault.file.endswith(".py"):
        ast.parse(planted)
    assert all((ROOT / name.partition("::")[0]).exists() for name in fault.tests)


@functools.cache
def marks_of_tests(file: str) -> dict[str, str]:
    """The tests of a file, by name, with the text of the marks that each has."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    if file.startswith("src/"):
        module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return dict.fromkeys(with_doctests(body, module), "")
    whole = "".join(ast.unparse(node) for node in body if is_pytestmark(node))
    return dict(named_with_marks(body, "", whole))


def with_doctests(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            if ">>> " in (ast.get_docstring(node) or ""):
                yield name
            yield from with_doctests(node.body, name)


def is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def named_with_marks(body: list[ast.stmt], prefix: str, marks: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = " ".join(map(ast.unparse, node.decorator_list))
            yield prefix + node.name, f"{marks} {own}"
        elif isinstance(node, ast.ClassDef):
            own = " ".join(map(ast.unparse, node.decorator_list))
            yield from named_with_marks(node.body, f"{node.name}::", f"{marks} {own}")


@pytest.mark.parametrize("fault", CAUGHT, ids=lambda fault: fault.name)
def test_what_catches_a_fault_is_a_test_of_make_test(fault: Fault) -> None:
    file, _, name = fault.caught_by.partition("::")
    marks = marks_of_tests(file)
    assert name in marks
    assert "mark.nightly" not in marks[name].replace("marks=pytest.mark.nightly", "")


def fault_at(file: str, find: str, **more: str) -> Fault:
    return Fault("f", "area", file, "reason", find, "x", (), **more)


def test_the_list_takes_the_names_of_tests_and_nothing_else_changes() -> None:
    text = '# Faults.\n\n[[fault]]\nname = "f"\nreason = "r"\nfind = "a"\n\n[[fault]]\nname = "g"\n'
    found = with_catchers(text, {"f": "tests/test_a.py::test_b"})
    assert found == text.replace('"r"\n', '"r"\ncaught_by = "tests/test_a.py::test_b"\n')
    assert with_catchers(found, {"f": "tests/test_c.py::test_d"}) == found.replace(
        "a.py::test_b", "c.py::test_d"
    )
    listed = LIST.read_text(encoding="utf-8")
    assert with_catchers(listed, {}) == listed
    assert with_catchers(listed, {fault.name: fault.caught_by for fault in FAULTS}) == listed


def test_what_is_written_names_tests_without_their_parameters(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text('# Faults.\n\n[[fault]]\nname = "f"\nreason = "r"\nfind = "a"\n')
    write(path, [Tried("f", "a", "b.py", "r", caught_by="tests/test_a.py::test_b[1-x]")])
    assert 'reason = "r"\ncaught_by = "tests/test_a.py::test_b"\nfind' in path.read_text()
    write(path, [Tried("f", "a", "b.py", "r", caught_by="tests/test_broken.py")])
    assert "broken" not in path.read_text()


def test_the_test_that_the_list_names_comes_first_and_alone() -> None:
    reach = Reach()
    fault = fault_at("src/streamgauge/kernel/columns.py", "x", caught_by="tests/test_a.py::test_b")
    known = list(Plan(known=True, nightly=False, most=9.0, reach=reach).runs(fault))
    assert [run.arguments for run in known] == [("-m", "not nightly", "tests/test_a.py::test_b")]
    first, second, *_ = Plan(known=False, nightly=False, most=9.0, reach=reach).runs(fault)
    assert first == known[0]
    assert second.arguments == ("--quick", "src/streamgauge/kernel/columns.py")


def test_without_a_record_names_say_which_tests_are_near(tmp_path: Path) -> None:
    for name in ("kernel/test_time.py", "kernel/test_time_zones.py", "plan/test_plan.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).write_text("from streamgauge.kernel.time import instant\n")
    found = list(likely(fault_at("src/streamgauge/kernel/time.py", "x"), tmp_path))
    assert found == [
        ["src/streamgauge/kernel/time.py"],
        ["tests/kernel/test_time.py", "tests/kernel/test_time_zones.py"],
        ["tests/plan/test_plan.py"],
        ["tests/kernel"],
    ]


@pytest.mark.slow
def test_a_fork_sees_the_tree_as_it_stands(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tools").mkdir(parents=True)
    (tree / "src").mkdir()
    (tree / "tools" / "forking.py").write_bytes((ROOT / "tools" / "forking.py").read_bytes())
    module, test = tree / "src" / "planted.py", tree / "test_planted.py"
    (tree / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["slow: slow"]\n')
    test.write_text(
        "import pytest\n\nfrom planted import VALUE\n\n\n"
        "@pytest.mark.slow\ndef test_one():\n    assert VALUE == 1\n\n\n"
        "def test_two():\n    assert VALUE < 3\n"
    )
    forks = Forks(tree, loaded=())
    try:
        module.write_text("VALUE = 1\n")
        assert forks.run(["test_planted.py"], 60.0).failed == {}
        module.write_text("VALUE = 22\n")
        outcome = forks.run(["test_planted.py"], 60.0)
        assert outcome.failed == {
            "test_planted.py::test_one": "test", "test_planted.py::test_two": "quick",
        }  # fmt: skip
        assert outcome.ran == 2
        assert "ended with 4" in forks.run(["test_other.py"], 60.0).error
    finally:
        forks.close()


def test_tests_that_run_the_line_come_before_all_others(tmp_path: Path) -> None:
    (tmp_path / "src" / "streamgauge").mkdir(parents=True)
    (tmp_path / "src" / "streamgauge" / "a.py").write_text("def f():\n    return 1\n\n\nx = 2\n")
    reach = Reach(
        seconds={"slow": 3.0, "quick": 0.1, "other": 0.1},
        commands=dict.fromkeys(("slow", "quick", "other"), "test"),
        lines={"streamgauge/a.py": {2: {"slow", "quick"}, 5: {"other"}}},
    )
    assert reach.of(fault_at("src/streamgauge/a.py", "return 1"), tmp_path) == ["quick", "slow"]


def test_kernels_are_tried_by_tests_of_those_who_import_them(tmp_path: Path) -> None:
    package = tmp_path / "src" / "streamgauge"
    package.mkdir(parents=True)
    (package / "kernel.py").write_text("def compiled_away():\n    return 1\n")
    (package / "user.py").write_text(
        "from streamgauge.kernel import compiled_away\n\n\ndef g():\n    return compiled_away()\n"
    )
    reach = Reach(
        seconds={"t": 0.1, "imports": 0.1},
        commands={"t": "quick", "imports": "quick"},
        lines={"streamgauge/user.py": {1: {"imports"}, 5: {"t"}}},
    )
    assert reach.of(fault_at("src/streamgauge/kernel.py", "return 1"), tmp_path) == ["t"]


def test_groups_grow() -> None:
    groups = list(grouped([str(n) for n in range(60)], lambda _: 2.0))
    assert [len(group) for group in groups] == [6, 18, 36]
    assert list(grouped([], lambda _: 1.0)) == []
