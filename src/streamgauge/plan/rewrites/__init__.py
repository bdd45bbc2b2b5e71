"""Rewrites: plans over rows that a synopsis answers, as queries of numbers.

Each takes a name, a bound plan, a contract and a cadence, and gives queries of numbers, or None
when the plan is of another shape. Without a tolerance the exact plan stays.
"""

from __future__ import annotations
