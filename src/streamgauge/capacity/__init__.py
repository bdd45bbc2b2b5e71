"""Capacity: what a workload costs, and so how many cores, how much memory and which epochs."""

from __future__ import annotations
