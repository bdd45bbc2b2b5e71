"""What holds in every scenario: written once, run after each of them."""

from __future__ import annotations

from streamgauge.checks.waiting import wait_until
from tests.edge_faults.scene import PATIENCE, QUESTIONS, Scene
from tests.edge_faults.truth import Verdict

# Answers that must be as asked for after each scenario: four ticks of all questions.
KEPT = 4 * len(QUESTIONS)


def run_checks(scene: Scene) -> None:
    """Hold a scene against all that it must keep, once it has calmed down."""
    check_widths_come_back(scene)
    verdict = enough(scene, KEPT)
    check_nothing_is_wrong(verdict)
    check_what_was_not_read_is_marked(scene, verdict)


def check_widths_come_back(scene: Scene) -> None:
    """All questions are answered as asked for again."""
    scene.wait_kept()


def check_nothing_is_wrong(verdict: Verdict) -> None:
    """No answer, marked or not, is wrong; none is too wide without saying so."""
    assert not verdict.wrong, str(verdict)
    assert not verdict.wide, str(verdict)


def check_what_was_not_read_is_marked(scene: Scene, verdict: Verdict) -> None:
    """Every answer that rests on an agent is marked at each tick that the agent was dead at."""
    for death in scene.deaths:
        missed = {tick for tick in scene.missed(death) if tick >= scene.since}
        for question in QUESTIONS:
            if any(site == death.site for site, _ in question.members):
                marked = set(verdict.marked_ticks.get(question.name, ()))
                assert missed <= marked, f"{question.name}: {sorted(missed - marked)}, {death}"


def enough(scene: Scene, kept: int) -> Verdict:
    """Wait until so many answers are as asked for; what the comparison found then."""
    found: list[Verdict] = []

    def seen() -> bool:
        found[:] = [scene.verdict()]
        return found[0].kept >= kept or bool(found[0].wrong)

    wait_until(seen, PATIENCE, what=f"{kept} answers as asked for", every=0.5)
    return found[0]
