"""Measures what the package adds to the program: python benchmark.py DATASET COLUMN.

Prints medians of nine runs in seconds. "program" is cat --to arrow into a pipe that is read and
thrown away.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import pyarrow.ipc

import rowtocol
from rowtocol._run import find_program


def measure(what: str, work: Callable[[], object]) -> None:
    times = []
    for _ in range(9):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    print(f"{statistics.median(times):8.3f}  {what}")


def main(path: str, column: str) -> None:
    data = rowtocol.open(path)

    def program() -> None:
        command = [find_program(), "cat", "--to", "arrow", "--unions", "struct", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as cat:
            assert cat.stdout is not None
            while os.read(cat.stdout.fileno(), 1 << 20):
                pass

    def batches() -> None:
        for _ in data.to_batches():
            pass

    one = f"import rowtocol; rowtocol.open({path!r}).to_arrow({column!r})"
    print(f"pyarrow {pyarrow.__version__}, {data.count()} rows")
    measure("program", program)
    measure("to_batches", batches)
    measure("to_arrow", data.to_arrow)
    measure(f"to_arrow({column!r})", lambda: data.to_arrow(column))
    measure("the start of Python with pyarrow", lambda: subprocess.run([sys.executable, "-c", "import pyarrow.ipc"], check=True))
    measure(f"a script with to_arrow({column!r})", lambda: subprocess.run([sys.executable, "-c", one], check=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
