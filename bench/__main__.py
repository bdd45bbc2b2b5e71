"""`python -m bench NAME [--quick] [--data DIR] [--json FILE]`."""

from __future__ import annotations

import argparse
import sys

from bench import run, workloads
from streamgauge.kernel.errors import StreamgaugeError


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and run a workload."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run a benchmark.")
    parser.add_argument("name", choices=workloads())
    parser.add_argument("--quick", action="store_true", help="under a minute, with little data")
    parser.add_argument(
        "--data", metavar="DIR", help="parquet files to use instead of generated rows"
    )
    parser.add_argument("--json", metavar="FILE", dest="json_file", help="write the figures there")
    given = parser.parse_args(arguments)
    try:
        return run(given.name, quick=given.quick, data=given.data, json_file=given.json_file)
    except StreamgaugeError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
