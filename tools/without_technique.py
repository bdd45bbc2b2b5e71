"""Delete a technique, its folder and its line, in a copy of the tree, and run the tests there.

`python -m tools.without_technique NAME ...` takes names of folders of `work/`, all when none is
given. First the tests run in the tree as it stands, to see which of them a technique has a part in
(`tools/taken_techniques.py`). In the copy all others must pass. What follows `--` is for pytest,
`--quick` when nothing is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path("src/streamgauge/plan/technique.py")
WORK = Path("src/streamgauge/work")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "no-java")


def folders(tree: Path = ROOT) -> list[str]:
    """The folders of techniques."""
    return sorted(path.parent.name for path in (tree / WORK).glob("*/__init__.py"))


def copied(folder: Path, tree: Path = ROOT) -> Path:
    """A copy of the tree."""
    shutil.copytree(tree, folder, ignore=LEFT_OUT, symlinks=True)
    return folder


def without(tree: Path, name: str) -> list[str]:
    """Delete the folder and the lines of a technique; the names of what has gone."""
    code = "".join(path.read_text(encoding="utf-8") for path in (tree / WORK / name).glob("*.py"))
    shutil.rmtree(tree / WORK / name)
    lines = (tree / LIST).read_text(encoding="utf-8").splitlines(keepends=True)
    left = [line for line in lines if f'"streamgauge.work.{name}.' not in line]
    assert len(left) < len(lines), f"no line of {LIST} names {name}"
    (tree / LIST).write_text("".join(left), encoding="utf-8")
    _forget_faults(tree / "tests/faults.toml", f"{WORK}/{name}/")
    named = re.compile(r'^    (?:name|technique: ClassVar\[str\]) = "([^"]+)"', re.MULTILINE)
    return sorted(set(named.findall(code)))


def _forget_faults(path: Path, folder: str) -> None:
    """Leave out the faults that are planted in a folder."""
    parts = path.read_text(encoding="utf-8").split("[[fault]]\n")
    left = [part for part in parts if f'file = "{folder}' not in part]
    path.write_text("[[fault]]\n".join(left), encoding="utf-8")


def noted(options: Sequence[str]) -> dict[str, list[str]]:
    """Tests by the techniques that have a part in them, from a run of the tree as it stands."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "taken.json"
        _pytest(ROOT, ["-p", "tools.taken_techniques", *options], STREAMGAUGE_TAKEN=str(path))
        found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
        return found


def own_tests(
    tree: Path, name: str, gone: Sequence[str], taken: Mapping[str, list[str]]
) -> list[str]:
    """Tests, and files of them, that a technique has a part in or that name it."""
    found = {test for known in gone for test in taken.get(known, ())}
    module = f"streamgauge.work.{name}"
    for path in (tree / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if module in text or f"work/{name}/" in text:
            found.add(str(path.relative_to(tree)))
    return sorted(found)


def failed(tree: Path, own: Sequence[str], options: Sequence[str]) -> list[str]:
    """Tests that fail in a tree, but for those of its technique."""
    files = [test for test in own if "::" not in test]
    leave = [f"--ignore={tree / file}" for file in files]
    leave += [f"--deselect={test}" for test in own if "::" in test]
    said = _pytest(tree, [*leave, *options])
    return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)


def _pytest(tree: Path, options: Sequence[str], **more: str) -> str:
    path = os.pathsep.join((str(tree / "src"), str(tree)))
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "-n", "0"]
    command.append("--continue-on-collection-errors")
    run = subprocess.run(
        [*command, *options],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {run.returncode}:\n{run.stdout[-4000:]}{run.stderr}")
    return run.stdout


def main(argv: Sequence[str]) -> int:
    """Try techniques; how many have left a test that fails."""
    at = list(argv).index("--") if "--" in argv else len(argv)
    names, options = list(argv[:at]) or folders(), list(argv[at + 1 :]) or ["--quick"]
    taken, wrong = noted(options), 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            tree = copied(Path(folder) / "tree")
            gone = without(tree, name)
            own = own_tests(tree, name, gone, taken)
            found = failed(tree, own, options)
        wrong += bool(found)
        sys.stdout.write(f"{name}: {len(own)} tests of its own, {len(found)} others fail\n")
        sys.stdout.write("".join(f"  {test}\n" for test in found))
    return wrong


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
