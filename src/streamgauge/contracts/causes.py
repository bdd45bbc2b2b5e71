"""Causes: what can widen an answer, by the names that answers, EXPLAIN and documents use.

Beside these an answer names the sketch that it was read from, by the name of the sketch.
"""

from __future__ import annotations

LATE_ROWS = "late rows"
INTERRUPTION = "interruption"
FILTER = "filter"
PROMISING = "promising"
BY_WATCH = "deferral by watch"
BY_TIMER = "deferral by timer"
AUDIT = "audit"

# Moves that are not answered leave no trace in an answer: this cause is planned alone.
SMALL_MOVES = "small moves"

CAUSES = (BY_WATCH, BY_TIMER, FILTER, PROMISING, LATE_ROWS, INTERRUPTION, AUDIT)
