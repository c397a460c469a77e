"""rowtocol: column files of Avro rows, in Python.

    import rowtocol
    mail = rowtocol.open("mail.columns")
    frame = mail.to_pandas(columns=["from", "size"], where="size > 1000")

The package runs the program rowtocol, which it brings along. docs/python.md has examples.
"""

from __future__ import annotations

from ._commands import commit, convert, plan, status, submit, task, verify
from ._dataset import Dataset, open
from ._errors import (
    BusyError,
    DestinationError,
    DifferenceError,
    InputError,
    InternalError,
    Interrupted,
    LossWarning,
    RefusedError,
    RowtocolError,
    StorageError,
    UsageError,
)
from ._results import CommitResult, ConvertResult, PlanResult, Result, StatusResult, SubmitResult, TaskResult, VerifyResult
from ._run import Progress

__version__: str  # made when it is asked for


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # takes longer than all else

        return version("rowtocol")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BusyError",
    "CommitResult",
    "ConvertResult",
    "Dataset",
    "DestinationError",
    "DifferenceError",
    "InputError",
    "InternalError",
    "Interrupted",
    "LossWarning",
    "PlanResult",
    "Progress",
    "RefusedError",
    "Result",
    "RowtocolError",
    "StatusResult",
    "StorageError",
    "SubmitResult",
    "TaskResult",
    "UsageError",
    "VerifyResult",
    "commit",
    "convert",
    "open",
    "plan",
    "status",
    "submit",
    "task",
    "verify",
]
