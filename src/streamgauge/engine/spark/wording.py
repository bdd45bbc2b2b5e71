"""What of Spark's errors is worth telling."""

from __future__ import annotations

from streamgauge.engine.spark.engine import OURS
from streamgauge.kernel.masking import masked


def brief(error: Exception) -> str:
    """The lines of a long Java trace that say something; our own error where there is one."""
    ours = OURS.findall(str(error))
    if ours:
        return masked(str(ours[-1]).strip())
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "..."))]
    return masked(" / ".join(told)[:1500])
