"""A dataset as a lazy frame of Polars: columns, limits and simple conditions are read by the program.

A condition is pushed down only if it selects at least the rows that Polars selects, and Polars
applies it again. It is read from the JSON form of an expression; what this module does not know
is not pushed down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._errors import UsageError
from ._stream import import_pyarrow

if TYPE_CHECKING:
    import polars

    from ._dataset import Dataset

_OPERATORS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def scan(dataset: Dataset) -> polars.LazyFrame:
    """Return the lazy frame. Each query reads the dataset as it is then."""
    import polars as pl
    from polars.io.plugins import register_io_source

    pa = import_pyarrow()

    def schema() -> polars.Schema:
        return _frame(dataset.schema.empty_table()).schema

    def read(columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, _: int | None) -> Iterator[polars.DataFrame]:
        # Polars takes the first rows, and then those of them that meet the condition.
        where = condition(predicate, schema()) if predicate is not None and rows is None else None
        if columns == []:  # only the number of rows matters, which a frame without columns lacks
            columns = [schema().names()[0]]
        try:
            batches = dataset.to_batches(columns, where, rows)
        except UsageError:  # for example, an enum does not have the symbol
            if where is None:
                raise
            batches = dataset.to_batches(columns, None, rows)
        for batch in batches:
            frame = _frame(pa.Table.from_batches([batch]))
            yield frame if predicate is None else frame.filter(predicate)

    def _frame(table: Any) -> polars.DataFrame:
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    return register_io_source(read, schema=schema, validate_schema=True)


def condition(predicate: polars.Expr, schema: polars.Schema) -> str | None:
    """Return a condition of the program that all rows of a predicate meet, or None."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # an expression without such a form, such as a Python function
        return None
    return _Translation(schema).at_least(tree)


class _Translation:
    """The translation of expressions on the columns of a schema. None stands for no translation."""

    def __init__(self, schema: polars.Schema) -> None:
        self._schema = schema
        self._negated = False

    def at_least(self, tree: Any) -> str | None:
        """Return a condition that the rows of an expression meet, and perhaps others."""
        binary = _of(tree, "BinaryExpr")
        if binary and binary.get("op") in ("And", "LogicalAnd"):
            sides = [s for s in (self.at_least(binary["left"]), self.at_least(binary["right"])) if s]
            return " and ".join(sides) or None
        return self.exactly(tree)

    def exactly(self, tree: Any) -> str | None:
        """Return a condition that has the value of an expression in all rows, nulls included.

        Where a text is compared, the condition may be true in more rows: the letters of a UUID
        may be of either case. So texts are not negated.
        """
        if binary := _of(tree, "BinaryExpr"):
            op = binary.get("op")
            if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
                left, right = self.exactly(binary["left"]), self.exactly(binary["right"])
                word = "and" if op.endswith("And") else "or"
                return f"({left} {word} {right})" if left and right else None
            return self._comparison(binary["left"], _OPERATORS.get(op), binary["right"])
        if function := _of(tree, "Function"):
            return self._function(function.get("input"), _of(function.get("function"), "Boolean"))
        name = self._column(tree)
        return f"({name} = true)" if name and self._type(tree) == "Boolean" else None

    def _comparison(self, left: Any, op: str | None, right: Any) -> str | None:
        if op is None:
            return None
        if self._column(left) is None:
            left, op, right = right, _FLIPPED.get(op, op), left
        name = self._column(left)
        value = self._literal(self._type(left), right, op)
        return f"({name} {op} {value})" if name and value else None

    def _function(self, arguments: Any, function: Any) -> str | None:
        if not arguments or function is None:
            return None
        name = self._column(arguments[0])
        if function == "IsNull":
            return f"({name} is null)" if name else None
        if function == "IsNotNull":
            return f"({name} is not null)" if name else None
        if function == "Not":
            before, self._negated = self._negated, True
            inner = self.exactly(arguments[0])
            self._negated = before
            return f"(not {inner})" if inner else None
        if _of(function, "IsBetween") == {"closed": "Both"}:
            lower, upper = self._comparison(arguments[0], ">=", arguments[1]), self._comparison(arguments[0], "<=", arguments[2])
            return f"({lower} and {upper})" if lower and upper else None
        if _of(function, "IsIn") == {"nulls_equal": False} and name:
            return self._membership(name, self._type(arguments[0]), _of(_of(_of(arguments[1], "Literal"), "Scalar"), "List"))
        return None

    def _membership(self, name: str, kind: str, values: Any) -> str | None:
        """values are the bytes of an Arrow stream of one column."""
        try:
            items = import_pyarrow().ipc.open_stream(bytes(values)).read_all().column(0).to_pylist()
        except (TypeError, ValueError, OSError):
            return None
        texts = []
        for item in items:
            of = {str: "String", int: "Int64"}.get(type(item), "")
            text = self._literal(kind, {"Literal": {"Scalar": {of: item}}}, "=")
            if text is None:
                return None
            texts.append(text)
        return f"({name} in ({', '.join(texts)}))" if texts else None

    def _column(self, tree: Any) -> str | None:
        name = _of(tree, "Column")
        if isinstance(name, str) and name in self._schema and re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            return f"`{name}`"
        return None

    def _type(self, tree: Any) -> str:
        name = _of(tree, "Column")
        return str(self._schema[name]) if isinstance(name, str) and name in self._schema else ""

    def _literal(self, kind: str, tree: Any, op: str) -> str | None:
        """Return a constant that compares with a column of a type as Polars compares it.

        NaN is ordered in Polars, invalid UTF-8 was replaced, and Polars may round times: so floats,
        and texts and times except to the day, are not pushed down.
        """
        scalar = _of(_of(tree, "Literal"), "Scalar")
        if not isinstance(scalar, dict) or len(scalar) != 1:
            return None
        ((of, value),) = scalar.items()
        if kind in _INTEGERS and of in _INTEGERS and isinstance(value, int):
            return str(value)
        if kind == "Boolean" and of == "Boolean" and op in ("=", "<>"):
            return "true" if value else "false"
        plain = kind in ("String", "Categorical") and of == "String" and str(value).isprintable() and "\ufffd" not in value
        if plain and op == "=" and not self._negated:
            return "'" + str(value).replace("'", "''") + "'"
        if kind == "Date" and of == "Date":
            return str(value)
        return None


def _of(tree: Any, name: str) -> Any:
    return tree.get(name) if isinstance(tree, dict) and len(tree) == 1 else None
