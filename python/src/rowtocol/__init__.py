"""rowtocol: column files of Avro rows, in Python.

    import rowtocol
    mail = rowtocol.open("mail.columns")
    frame = mail.to_pandas(columns=["from", "size"], where="size > 1000")

The package runs the program rowtocol, which it brings along. docs/python.md has examples.
"""

from __future__ import annotations

from importlib.metadata import version as _version

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
from ._run import Progress

__version__ = _version("rowtocol")

__all__ = [
    "BusyError",
    "Dataset",
    "DestinationError",
    "DifferenceError",
    "InputError",
    "InternalError",
    "Interrupted",
    "LossWarning",
    "Progress",
    "RefusedError",
    "RowtocolError",
    "StorageError",
    "UsageError",
    "open",
]
