"""What of Spark's errors is worth telling, and which of them pass by themselves."""

from __future__ import annotations

import re

from streamgauge.kernel.masking import masked

# Our own errors come back inside a long trace of Python and Java; the three parts are enough.
OURS = re.compile(r"streamgauge\.kernel\.errors\.(\w+: .*\n  detail: .*\n  hint: .*)")
# Python workers that did not start, or were gone: a busy machine gives such, and later none.
_STARTING = re.compile(
    r"Python worker failed to connect back"
    r"|Timed out while waiting for the Python worker to connect back"
    r"|Python (?:daemon )?failed to launch worker"
    r"|Python worker exited unexpectedly \(crashed\)"
)
# A refused connection tells nothing by itself; one to the daemon of workers does.
_REFUSED = re.compile(
    r"java\.(?:net|io)\.\w*Exception: (?:Connection (?:refused|reset)|Broken pipe)"
)
_DAEMON = "org.apache.spark.api.python.PythonWorkerFactory"
# An exception of Python code in a worker, and a crash that Python could tell the place of.
_REAL = re.compile(r"PythonException: (?:\S+ )?Traceback|Fatal Python error")


def brief(error: Exception) -> str:
    """The lines of a long Java trace that say something; our own error where there is one."""
    ours = OURS.findall(str(error))
    if ours:
        return masked(str(ours[-1]).strip())
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "..."))]
    return masked(" / ".join(told)[:1500])


def transient(text: str) -> str | None:
    """What a failure says of a Python worker that did not start; None for any other failure.

    >>> transient("org.apache.spark.SparkException: Python worker failed to connect back.")
    'Python worker failed to connect back'
    >>> transient("java.net.ConnectException: Connection refused") is None
    True
    """
    if OURS.search(text) or _REAL.search(text):
        return None
    found = _STARTING.search(text) or (_REFUSED.search(text) if _DAEMON in text else None)
    return None if found is None else found[0]
