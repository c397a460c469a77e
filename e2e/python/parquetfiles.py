"""Parquet files of rowtocol, read by pyarrow, DuckDB and Polars.

parquetfiles.py [TIMES] LIST

Each line of LIST has the names of an Avro file and of the Parquet files of its rows, in
order, separated by tabs. The values that each engine reads must be those that fastavro reads
from the Avro file. pyarrow must also show the types, check the checksums of all pages, and
find statistics that fit the values. TIMES is what --times was: exact, spark or iceberg.

Each fault is a line: the number of a line of LIST, who found it, and what it is, separated by
tabs. The last line counts what was compared.
"""

import decimal
import itertools
import sys

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import avrorows
from avrorows import List, Optional, Record

decimal.getcontext().prec = 80

PER_SECOND = {"s": 1, "millis": 10**3, "ms": 10**3, "micros": 10**6, "us": 10**6, "nanos": 10**9, "ns": 10**9}
UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
PLAIN = {
    "null": pa.int32(), "presence": pa.bool_(), "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "enum": pa.string(), "bytes": pa.binary(),
}
# What values are compared as, by the type that an engine has for them.
COMPARED = {
    pa.large_string(): (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    pa.large_binary(): (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
    pa.int32(): (pa.types.is_int32, pa.types.is_date32, pa.types.is_time32),
    pa.int64(): (pa.types.is_int64, pa.types.is_time64, pa.types.is_timestamp),
    pa.bool_(): (pa.types.is_boolean,),
}


# The types of stored times that differ from those of the rows, by --times.
STORED = {
    "exact": {},
    "spark": {
        "time-millis": "", "time-micros": "", "timestamp-millis": "timestamp-micros", "timestamp-nanos": "timestamp-micros",
        "local-timestamp-millis": "local-timestamp-micros", "local-timestamp-nanos": "local-timestamp-micros",
    },
    "iceberg": {
        "time-millis": "time-micros", "timestamp-millis": "timestamp-micros", "local-timestamp-millis": "local-timestamp-micros",
    },
}
TIMES = "exact"


class Fault(Exception):
    pass


def expect(where, what, got, want):
    if got != want:
        raise Fault(f"{where}: {what}: {str(got)[:200]}, and should be {str(want)[:200]}")


# Types.


def arrow_type(node):
    """The type that pyarrow has for values of a shape."""
    match node:
        case Record(fields):
            return pa.struct([arrow_field(*f) for f in fields])
        case List(of, map=True):
            return pa.map_(pa.string(), arrow_field(*of.fields[1]))
        case List(of):
            return pa.list_(arrow_field("element", None, of))
    kind, _, unit = STORED[TIMES].get(node.logical, node.logical).rpartition("-")
    if node.logical == "decimal":
        return pa.decimal128(node.precision, node.scale)
    if node.logical == "date":
        return pa.date32()
    if kind == "time":
        return pa.time32("ms") if unit == "millis" else pa.time64("us")
    if kind:
        return pa.timestamp(UNITS[unit], None if kind.startswith("local") else "UTC")
    if node.kind == "fixed":
        return pa.binary(node.size) if node.size else pa.binary()
    return PLAIN[node.kind]


def arrow_field(name, _, node):
    of = node.of if isinstance(node, Optional) else node
    return pa.field(name, arrow_type(of), nullable=of is not node)


def check_types(table, root):
    for f, g in itertools.zip_longest(root.fields, table.schema):
        want = arrow_field(*f) if f else None
        if want is None or g is None or not g.equals(want):
            expect(f and f[0], "field", f"{g}", f"{want}")
            raise Fault(f"{f[0]}: parts of {g} are nullable, and should not be, or are not")


# Values.


def compare_column(c, table, i):
    expect("file", f"name of column {i}", table.column_names[i], c.path)
    chunks = table.column(i)
    compare(c, pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type))


def compare(c, array):
    """Compares an array with the column c of fastavro's values."""
    if c.present is not None:
        expect(c.path, "which are null", array.is_valid().equals(pa.array(c.present, pa.bool_())), True)
        array = array.drop_null()
    else:
        expect(c.path, "nulls", array.null_count, 0)
    if isinstance(c.node, List):
        expect(c.path, "lengths", np.diff(array.offsets).tolist(), c.lengths)
        compare(c.children[0], entries(array) if pa.types.is_map(array.type) else array.flatten())
    elif isinstance(c.node, Record):
        names = [array.type.field(i).name for i in range(array.type.num_fields)]
        expect(c.path, "fields", names, [name for name, _, _ in c.node.fields])
        for i, child in enumerate(c.children):
            compare(child, array.field(i))
    else:
        compare_leaf(c, array)


def entries(maps):
    """The entries of an array of maps."""
    if len(maps) == 0:
        return pa.StructArray.from_arrays([maps.keys[:0], maps.items[:0]], ["key", "value"])
    start, end = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return pa.StructArray.from_arrays([maps.keys[start:end], maps.items[start:end]], ["key", "value"])


def compare_leaf(c, array):
    t, node, values = array.type, c.node, c.values
    if node.logical == "decimal":
        expect(c.path, "type", pa.types.is_decimal(t), True)
        expect(c.path, "scale", t.scale, node.scale)
        return expect_equal(c, [int(v.scaleb(node.scale)) for v in array.to_pylist()], list(map(unscaled, values)))
    if node.kind in ("float", "double"):
        expect(c.path, "type", t, PLAIN[node.kind])
        got, want = array.to_numpy(zero_copy_only=False), np.array(values, t.to_pandas_dtype())
        bits = f"i{got.itemsize}"
        if not ((got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))).all():
            expect_equal(c, got.tolist(), want.tolist())
        return None
    if pa.types.is_time(t) or pa.types.is_timestamp(t):
        kind, _, unit = node.logical.rpartition("-")
        expect(c.path, "type", "time" if pa.types.is_time(t) else "timestamp" if t.tz else "local-timestamp", kind)
        values = rescaled(values, PER_SECOND[t.unit], PER_SECOND[unit])
    expect(c.path, "is a date", pa.types.is_date(t), node.logical == "date")
    (comparable,) = [to for to, tests in COMPARED.items() if any(test(t) for test in tests)] or [None]
    if comparable is None:
        raise Fault(f"{c.path}: the type is {t}")
    try:
        want = pa.array(values, comparable)
    except (pa.ArrowInvalid, OverflowError, TypeError) as e:
        raise Fault(f"{c.path}: the values are no {t}: {e}") from e
    if not array.cast(comparable).equals(want):
        expect_equal(c, array.cast(comparable).to_pylist(), want.to_pylist())
        raise Fault(f"{c.path}: values differ")
    return None


def rescaled(values, to, unit):
    """Values in other units, given as numbers per second."""
    if to >= unit:
        return [v * (to // unit) for v in values]
    return [v / (unit // to) if v % (unit // to) else v // (unit // to) for v in values]


def expect_equal(c, got, want):
    expect(c.path, "number of values", len(got), len(want))
    for i, (g, w) in enumerate(zip(got, want)):
        if g != w:
            expect(c.path, f"value {i}", repr(g), repr(w))


def unscaled(v):
    return int.from_bytes(v, "big", signed=True)


# Statistics.


def check_statistics(meta, rows, columns):
    expect("footer", "rows", meta.num_rows, rows)
    if rows == 0 and meta.num_row_groups == 0:
        return
    expect("footer", "row groups", meta.num_row_groups, 1)
    group = meta.row_group(0)
    leaves = [leaf for c in columns for leaf in c.leaves()]
    expect("footer", "columns", group.num_columns, len(leaves))
    for i, c in enumerate(leaves):
        chunk = group.column(i)
        expect("footer", f"path of column {i}", chunk.path_in_schema, c.path)
        expect(c.path, "entries", chunk.num_values, len(c.values) + c.absent)
        if chunk.num_values:
            expect(c.path, "has an offset index", chunk.has_offset_index, True)
            check_bounds(c, chunk)


def check_bounds(c, chunk):
    s = chunk.statistics
    expect(c.path, "has statistics", s is not None, True)
    expect(c.path, "nulls", s.null_count, c.absent)
    values = c.values
    if c.node.kind in ("string", "enum"):
        values = [v.encode() for v in values]
    elif c.node.kind in ("float", "double") and any(v != v for v in values):
        values = []  # there are no bounds beside NaN
    expect(c.path, "has a column index", chunk.has_column_index, s.has_min_max or not c.values)
    if not values:
        return expect(c.path, "has bounds without values", s.has_min_max, False)
    signed = c.node.logical == "decimal"
    if not s.has_min_max:
        return expect(c.path, "may have no bounds", signed or isinstance(values[0], bytes) and len(max(values)) > 64, True)
    if to := STORED[TIMES].get(c.node.logical):
        values = rescaled(values, *(PER_SECOND[l.rpartition("-")[2]] for l in (to, c.node.logical)))
    key = unscaled if signed else None
    check_bound(c, "minimum", s.min_raw, min(values, key=key))
    return check_bound(c, "maximum", s.max_raw, max(values, key=key))


def check_bound(c, what, got, want):
    if isinstance(want, float) and want == 0:
        want = "-0.0" if what == "minimum" else "0.0"
        got = str(got)
    if c.node.logical == "decimal":
        got, want = unscaled(got), unscaled(want)
    if not isinstance(want, bytes) or len(want) <= 64:
        return expect(c.path, what, got, want)
    expect(c.path, f"length of {what}, at most 64", len(got) <= 64, True)
    if what == "minimum":
        return expect(c.path, what + ", a prefix", want.startswith(got), True)
    return expect(c.path, what + " above all values", got > want and len(got) > 0, True)


# Engines.


class PyArrow:
    def read(self, path):
        with pq.ParquetFile(path, page_checksum_verification=True) as f:
            table = f.read(use_threads=False)
        table.validate(full=True)
        return table


class DuckDB:
    def __init__(self):
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("set timezone = 'UTC'")

    def read(self, path):
        return self.connection.sql(f"from read_parquet('{path}')").to_arrow_table()


class Polars:
    def read(self, path):
        return pl.read_parquet(path).to_arrow(compat_level=pl.CompatLevel.oldest())


class Judge:
    def __init__(self, engines):
        self.engines = engines
        self.rows = self.values = 0

    def judge(self, avro, *parts):
        """Returns the faults, each with who found it."""
        self.faults = []
        self.attempt("fastavro", self.compare, avro, parts)
        return self.faults

    def attempt(self, who, f, *args):
        try:
            return f(*args)
        except BaseException as e:  # Polars' panics are not Exceptions
            if isinstance(e, (KeyboardInterrupt, SystemExit)):
                raise
            self.faults.append((who, f"{e}" if isinstance(e, Fault) else f"{type(e).__name__}: {e}"))
            return None

    def compare(self, avro, parts):
        schema, rows = avrorows.read(avro)
        for part in parts:
            meta = pq.read_metadata(part)
            some = list(itertools.islice(rows, meta.num_rows))
            columns = avrorows.column(schema.root, some).children
            self.rows += len(some)
            self.values += sum(len(leaf.values) for c in columns for leaf in c.leaves())
            if "pyarrow" in self.engines:
                self.attempt("statistics", check_statistics, meta, len(some), columns)
            for name, engine in self.engines.items():
                table = self.attempt(name, engine.read, part)
                if table is None:
                    continue
                if name == "pyarrow":
                    self.attempt(name, check_types, table, schema.root)
                self.attempt(name, expect, "file", "number of columns", table.num_columns, len(columns))
                for i, c in enumerate(columns):
                    self.attempt(name, compare_column, c, table, i)
        expect("Avro file", "rows that are in no part", len(list(rows)), 0)


def main(path, engines, times="exact"):
    global TIMES
    TIMES = times
    judge = Judge(engines)
    with open(path) as f:
        lines = f.read().splitlines()
    for i, line in enumerate(lines):
        for who, fault in judge.judge(*line.split("\t")):
            print(i, who, " ".join(fault.split()), sep="\t")
    print(f"{len(lines)} files, {judge.rows} rows, {judge.values} values")


if __name__ == "__main__":
    *times, path = sys.argv[1:]
    main(path, {"pyarrow": PyArrow(), "DuckDB": DuckDB(), "Polars": Polars()}, *times)
