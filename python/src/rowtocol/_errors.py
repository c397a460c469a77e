"""The exceptions of the package: one class for each exit code of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RowtocolError(Exception):
    """A run of the program that failed.

    The text of the exception is the program's message. An attribute that the program did not
    report is None.
    """

    #: Whether the same call may succeed later.
    retryable = False

    code: int  #: the exit code
    message: str
    kind: str | None  #: the kind of the error, such as "truncated"
    file: str | None  #: the damaged file
    column: str | None
    path: str | None  #: the place in the schema
    block: int | None
    row: int | None
    offset: int | None  #: the place in the file, in bytes
    reason: str | None
    result: dict[str, Any] | None  #: what the program reported besides the error

    def __init__(
        self,
        code: int,
        message: str,
        error: Mapping[str, Any] | None = None,
        result: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(code, message, error, result)
        error = error or {}
        self.code, self.message, self.result = code, message, result
        self.kind, self.file, self.column = error.get("kind"), error.get("file"), error.get("column")
        self.path, self.block, self.row = error.get("path"), error.get("block"), error.get("row")
        self.offset, self.reason = error.get("offset"), error.get("reason")

    def __str__(self) -> str:
        return self.message


class UsageError(RowtocolError):
    """Exit code 1: an argument is wrong, such as a column that does not exist."""


class InternalError(RowtocolError):
    """Exit code 2: a defect of rowtocol."""


class InputError(RowtocolError):
    """Exit code 3: an input is missing, damaged or not convertible."""


class StorageError(RowtocolError):
    """Exit code 4: storage or network failed, or the dataset is being replaced."""

    retryable = True


class BusyError(RowtocolError):
    """Exit code 5: another run holds the destination."""

    retryable = True


class DifferenceError(RowtocolError):
    """Exit code 6: verify found a difference."""


class RefusedError(RowtocolError):
    """Exit code 7: storage refuses, and a retry does not help."""


class DestinationError(RowtocolError):
    """Exit code 9: the destination holds something else."""


class Interrupted(RowtocolError):  # noqa: N818
    """The program was ended by a signal. The code is 128 plus the number of the signal."""

    retryable = True


class LossWarning(UserWarning):
    """Exit code 8: the output was published without the rows that damage took."""


_BY_CODE: dict[int, type[RowtocolError]] = {
    1: UsageError,
    3: InputError,
    4: StorageError,
    5: BusyError,
    6: DifferenceError,
    7: RefusedError,
    9: DestinationError,
}


def error_of(code: int, message: str, error: Mapping[str, Any] | None, result: dict[str, Any] | None) -> RowtocolError:
    """Return the exception for an exit code."""
    kind = Interrupted if code > 128 else _BY_CODE.get(code, InternalError)
    return kind(code, message, error, result)
