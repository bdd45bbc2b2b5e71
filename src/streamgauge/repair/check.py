"""Check: look through a data directory, and repair what loses nothing that was acknowledged."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.errors import SourceFailure, StateTooOld, StreamgaugeError
from streamgauge.kernel.files import sync_directory, write_json
from streamgauge.log.home import ASIDE, CLEARED, Home
from streamgauge.log.lock import LOCK, held, holding, refuse_if_held
from streamgauge.repair.epochs import Epochs, known_form, known_shards, rewritten_cleared
from streamgauge.repair.finding import REMOVE, REWRITE, SET_ASIDE, Finding, HomeReport, Notes, Tell
from streamgauge.repair.others import look_at_others
from streamgauge.repair.recomputing import recompute, scratch_of
from streamgauge.repair.rows import Rows

CARD = "gauge.json"


def check_home(
    home: str | Path,
    *,
    repair: bool = False,
    allow_functions: Iterable[str] | Allowed = (),
    tell: Tell = lambda _: None,
) -> HomeReport:
    """Look through a data directory; return what is wrong with it.

    Parameters
    ----------
    home
        The data directory.
    repair
        Repair what loses nothing that was acknowledged. Raises EngineFailure while a job runs.
    allow_functions
        As in `connect`: epochs with Python functions are computed again only with them.
    tell
        Is told how many files were looked at.
    """
    root = Path(home).absolute()
    if not (root / CARD).exists() and not (root / "journal").is_dir():
        raise SourceFailure(
            f"no Streamgauge data in '{root}'",
            f"'{root / CARD}' does not exist",
            "pass --home DIR",
        )
    allowed = Allowed.of(allow_functions)
    if repair:
        with _alone(root):
            notes, epochs = _look(root, allowed, tell)
            _repair(root, notes, epochs)
        return HomeReport(str(root), notes.files, tuple(notes.findings))
    running = held(root)
    notes, _ = _look(root, allowed, tell)
    if running and notes.findings:
        # The job writes and removes files meanwhile: what is wrong is so a second time.
        again, _ = _look(root, allowed, tell)
        notes.findings = [finding for finding in notes.findings if finding in again.findings]
    return HomeReport(str(root), notes.files, tuple(notes.findings))


def _alone(root: Path) -> ExitStack:
    """Be the only process that runs anything on a data directory."""
    with ExitStack() as stack:
        stack.enter_context(holding(root))
        for lock in root.glob(f"*/**/{LOCK}"):
            refuse_if_held(lock.parent)
        return stack.pop_all()


def _look(root: Path, allowed: Allowed, tell: Tell) -> tuple[Notes, Epochs]:
    notes = Notes(root, tell)
    home = _opened(root, allowed, notes)
    epochs = Epochs(home, notes)
    epochs.look()
    Rows(home, notes, epochs).look()
    look_at_others(home, notes)
    if scratch_of(home).exists():
        notes.add(
            scratch_of(home), "a repair in the making", "a crash left it", "nothing",
            repair=REMOVE, harmless=True,
        )  # fmt: skip
    return notes, epochs


def _opened(root: Path, allowed: Allowed, notes: Notes) -> Home:
    """The home; where its card is damaged, with what the other files say."""
    notes.seen()
    try:
        return Home.open(root, shards=1, allowed=allowed)
    except StateTooOld as error:
        if "format" in error.what:
            raise
        shards = known_shards(root)
        notes.add(
            root / CARD,
            "the format and the number of shards",
            error.detail.removeprefix(f"{root / CARD}: "),
            "nothing can be opened",
            repair="" if shards is None else REWRITE,
            advice=f"write {{'format': {known_form(root)}, 'shards': N}}" if shards is None else "",
        )
        return Home(str(root), shards or 1, allowed, form=known_form(root))


def _repair(root: Path, notes: Notes, epochs: Epochs) -> None:
    """Repair what was found, the simplest first: a replay reads what the others have mended."""
    steps: dict[str, Callable[[Finding], None]] = {
        REWRITE: lambda finding: _rewrite(epochs.home, finding),
        REMOVE: lambda finding: _remove(root / finding.path),
        SET_ASIDE: lambda finding: _set_aside(root, finding),
    }
    for finding in _of(notes, steps):
        try:
            steps[finding.repair](finding)
        except (OSError, StreamgaugeError) as error:
            notes.settle(finding, str(error))
        else:
            notes.settle(finding)
    recompute(epochs, notes)


def _of(notes: Notes, repairs: Iterable[str]) -> Iterator[Finding]:
    for repair in repairs:
        yield from [finding for finding in notes.findings if finding.repair == repair]


def _rewrite(home: Home, finding: Finding) -> None:
    path = home.root / finding.path
    told = (
        rewritten_cleared(home)
        if path.name == CLEARED
        else {"format": home.form, "shards": home.shards}
    )
    write_json(path, told)
    sync_directory(home.root)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _set_aside(root: Path, finding: Finding) -> None:
    """Move a file out of the way, with a note of what it was; nothing of it is lost."""
    path, aside = root / finding.path, root / ASIDE / finding.path
    serial = 0
    while aside.exists():
        serial += 1
        aside = root / ASIDE / f"{finding.path}.{serial}"
    aside.parent.mkdir(parents=True, exist_ok=True)
    write_json(aside.with_name(f"{aside.name}.note"), finding.as_dict())
    path.replace(aside)
    sync_directory(aside.parent)
    sync_directory(path.parent)
