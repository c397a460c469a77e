"""Rows of a run as a stream of Arrow. A stream whose program failed raises, and never ends early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from ._errors import InternalError, RowtocolError
from ._run import Run

if TYPE_CHECKING:
    import pyarrow

# What a complete stream ends with.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def import_pyarrow() -> Any:
    """Return the module pyarrow. Raises ImportError that says what to install."""
    try:
        import pyarrow.ipc
    except ImportError as e:
        raise ImportError("this needs pyarrow: pip install pyarrow") from e
    return pyarrow


class _Tail:
    """A file that remembers the last bytes that were read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.last = b""
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.last = (self.last + data[-8:])[-8:]
        return data

    def close(self) -> None:  # the run closes the file
        self.closed = True


def open_stream(run: Run, columns: Sequence[str] | None = None) -> pyarrow.RecordBatchReader:
    """Return the batches that a run writes. The run ends with them, or when the reader is dropped.

    The batches have the given columns in their order, if these are the columns of the stream.
    Raises the exception of the run if it fails before it writes a schema; later the reader does.
    """
    pa = import_pyarrow()
    tail = _Tail(run.stdout)
    try:
        try:
            source = pa.ipc.open_stream(pa.PythonFile(tail, mode="r"))
        except pa.ArrowInvalid as e:
            _check(run, tail, e)
            raise
        schema = source.schema
        if columns is not None and list(columns) != schema.names and sorted(columns) == sorted(schema.names):
            schema = pa.schema([schema.field(c) for c in columns], schema.metadata)
    except BaseException:
        run.close()
        raise
    batches = _batches(run, tail, source, schema.names)
    next(batches)
    reader: pyarrow.RecordBatchReader = pa.RecordBatchReader.from_batches(schema, batches)
    return reader


def _batches(run: Run, tail: _Tail, source: Any, names: list[str]) -> Iterator[Any]:
    """Yield None, and then the batches. Python ends the run of a generator that is deleted only if it has begun."""
    order = names if names != source.schema.names else None
    with run:
        yield None
        try:
            for batch in source:
                yield batch if order is None else batch.select(order)
        except (OSError, ValueError) as e:  # pyarrow's errors of a stream that is cut off
            _check(run, tail, e)
            raise
        _check(run, tail, None)


def _check(run: Run, tail: _Tail, cause: Exception | None) -> None:
    """Wait for a run, and raise its exception, or one about a stream without its end."""
    while tail.read(1 << 16):
        pass
    try:
        run.finish().check()
    except RowtocolError as e:
        raise e from None
    if tail.last != _END:
        raise InternalError(2, "rowtocol wrote an incomplete Arrow stream, and reported no error") from cause
