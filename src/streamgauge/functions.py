"""Synopses of Spark DataFrames and parquet: answers with bars over groups.

>>> from streamgauge import functions
>>> functions.quantiles("latency", k=200).kind
'kll'
"""

from __future__ import annotations

from streamgauge.engine.spark.functions import (
    distinct,
    distinct_of,
    quantiles,
    quantiles_of,
    summarise,
    summary,
    top_k,
    value_quantiles,
)

__all__ = [
    "distinct",
    "distinct_of",
    "quantiles",
    "quantiles_of",
    "summarise",
    "summary",
    "top_k",
    "value_quantiles",
]
