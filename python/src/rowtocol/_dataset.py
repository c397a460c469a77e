"""Datasets: what the program reads, as Arrow, pandas, Polars and figures."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import RowtocolError
from ._flags import Paths, arguments_of, paths_of
from ._run import Run, call
from ._stream import import_pyarrow, open_stream

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from typing_extensions import Unpack

    from ._options import OpenOptions

Columns = str | Sequence[str]

_ARROW = ("--to", "arrow", "--unions", "struct")


def open(path: Paths, **options: Unpack[OpenOptions]) -> Dataset:
    """Return the dataset at a path. No file is read before you ask for something.

    path is a column file, an Avro file, an output of convert, a tree of directories key=value, a
    pattern, or a list of these. It may be local, or begin with hdfs://.
    """
    return Dataset(tuple(paths_of(path)), arguments_of(options))


@dataclass(frozen=True, repr=False)
class Dataset:
    """Rows at one or several paths, as open returns them.

    Each method runs the program, and sees the dataset as it is then. A method raises a subclass
    of RowtocolError if the program fails, and ImportError if it needs a package that is missing.

    The arguments of most methods are:
    columns: the fields to read, such as ["from", "received.host"]; by default all.
    where: a condition in the program's language, such as "size > 1000 and folder <> 'SPAM'".
    limit: the most rows to read; by default all.
    """

    paths: tuple[str, ...]
    options: tuple[str, ...] = ()

    def __repr__(self) -> str:
        path = repr(self.paths[0]) if len(self.paths) == 1 else repr(list(self.paths))
        return f"rowtocol.open({path})"

    @property
    def schema(self) -> pyarrow.Schema:
        """The schema of the rows in Arrow."""
        return self.to_batches(limit=0).schema

    def count(self, where: str | None = None) -> int:
        """Return the number of rows, or of those that meet a condition."""
        return int(self._ask("count", _query(None, where, None))["rows"])

    def head(self, n: int = 10, columns: Columns | None = None, where: str | None = None) -> pyarrow.Table:
        """Return the first rows as a table of pyarrow."""
        return self.to_arrow(columns, where, n)

    def stats(self, columns: Columns | None = None, where: str | None = None) -> list[dict[str, Any]]:
        """Return figures about each column: nulls, distinct values, the least and the greatest value, and others.

        pandas.DataFrame(stats) shows them as a table.
        """
        return list(self._ask("stats", _query(columns, where, None))["columns"])

    def inspect(self) -> dict[str, Any]:
        """Return the header, the columns and the stored sizes, as rowtocol inspect --json prints them."""
        return self._ask("inspect", [])

    def to_batches(self, columns: Columns | None = None, where: str | None = None, limit: int | None = None) -> pyarrow.RecordBatchReader:
        """Return a stream of batches, of which only a few are in memory at a time.

        If the program fails after it wrote batches, the reader raises when it comes to the end.
        """
        import_pyarrow()
        run = Run(["cat", *_ARROW, *_query(columns, where, limit), *self.options, *self.paths])
        return open_stream(run, _names(columns))

    def to_arrow(self, columns: Columns | None = None, where: str | None = None, limit: int | None = None) -> pyarrow.Table:
        """Return the rows as a table of pyarrow."""
        return self.to_batches(columns, where, limit).read_all()

    def to_pandas(self, columns: Columns | None = None, where: str | None = None, limit: int | None = None, **options: Any) -> pandas.DataFrame:
        """Return the rows as a data frame of pandas.

        The columns have Arrow's types, so that integers with nulls stay integers. Other options
        go to pyarrow.Table.to_pandas: types_mapper=None gives NumPy's types.
        """
        import_pyarrow()
        import pandas

        options.setdefault("types_mapper", pandas.ArrowDtype)
        return self.to_arrow(columns, where, limit).to_pandas(**options)

    def to_polars(self) -> polars.LazyFrame:
        """Return a lazy frame of Polars, which reads only the columns and rows that a query needs."""
        from ._polars import scan

        return scan(self)

    def lookup(self, keys: Any, by: str | None = None, columns: Columns | None = None, limit: int | None = None) -> pyarrow.Table:
        """Return the rows with some keys, in the order of the keys, as a table of pyarrow.

        The dataset needs an index: see convert(index=). keys is a key or a list of keys. The key of
        an index on several fields is a tuple. by names the fields of the index; it is needed if
        there are several indexes. A key without rows adds nothing.
        """
        import tempfile  # takes long, and only this needs it

        import_pyarrow()
        chosen = ["--by", by] if by is not None else []
        with tempfile.TemporaryFile() as lines:
            for key in keys if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes, tuple)) else [keys]:
                lines.write(json.dumps([_constant(v) for v in (key if isinstance(key, tuple) else (key,))]).encode() + b"\n")
            lines.seek(0)
            find = ["lookup", "--to", "avro", *chosen, *_query(columns, None, limit), *self.options, *self.paths, "-"]
            with Run(find, stdin=lines) as found, Run(["cat", *_ARROW, "-"], stdin=found.stdout) as run:
                found.stdout.close()  # only cat reads it
                try:
                    table = open_stream(run, _names(columns)).read_all()
                except RowtocolError:
                    found.finish().check()  # cat fails if lookup does
                    raise
                found.finish().check()
        return table

    def __arrow_c_schema__(self) -> object:
        """Return the schema of __arrow_c_stream__. DuckDB starts a stream to learn the schema if there is no such method."""
        schema: Any = self.schema
        return schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of Arrow's C interface, for DuckDB, Polars, pandas and pyarrow."""
        reader: Any = self.to_batches()
        return reader.__arrow_c_stream__(requested_schema)

    def _ask(self, command: str, arguments: Iterable[str]) -> dict[str, Any]:
        ending = call([command, *arguments, *self.options, *self.paths])
        ending.check()
        result: dict[str, Any] = ending.document["result"]
        return result


def _names(columns: Columns | None) -> list[str] | None:
    if columns is None:
        return None
    names = [c.strip() for c in columns.split(",")] if isinstance(columns, str) else list(columns)
    if len(set(names)) < len(names):
        raise ValueError(f"columns names a field twice: {', '.join(names)}")
    return names


def _query(columns: Columns | None, where: str | None, limit: int | None) -> list[str]:
    arguments = []
    names = _names(columns)
    if names == []:
        raise ValueError("columns is empty: name a column, or leave columns out for all")
    for name in names or ():
        arguments += ["--columns", name]
    if where is not None:
        arguments += ["--where", where]
    if limit is not None:
        arguments += ["--limit", str(limit)]
    return arguments


def _constant(value: Any) -> Any:
    """Return a value of a key as the program reads it in a JSON array. Raises TypeError."""
    if isinstance(value, datetime.datetime):
        return value.isoformat() if value.tzinfo is None else value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "item"):  # a scalar of NumPy
        return _constant(value.item())
    raise TypeError(f"{value!r} cannot be a key")
