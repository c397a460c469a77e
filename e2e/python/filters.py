"""Random conditions, in rowtocol's language and as filters of pyarrow and Polars.

filters.py make ROWS.avro CONDITIONS.json SEED COUNT
filters.py judge CONDITIONS.json ANSWERS.json PART.parquet...
filters.py nan FILE.parquet
filters.py find FILE.parquet

make writes rows of conditions.py, and COUNT conditions, each a text and a tree in JSON. judge
has both engines select rows of all parts at once by the trees, with the statistics of the
files, and compares with rowtocol's answers to the texts. nan has pyarrow write pages whose
bounds leave out NaN. find has pyarrow, Polars and DuckDB find NaN in a file of the same rows.

Conditions are only those that have one meaning: comparisons of a field with a constant that
is a number, and what null, and, or and not make of them. Polars orders NaN after all numbers,
so its filters leave NaN out where they ask for greater numbers.
"""

import datetime as dt
import decimal
import json
import math
import operator
import random
import sys

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import conditions
from conditions import DAYS, INTS, LONG_DECIMALS, LONGS, RAWS, TEXTS, TIMES, UTC, UUIDS, sql_text

OPERATORS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
FLOATS = [0.0, 0.5, 1.0, -7.0, 100.25, 2.0**40, -1.5]
CLOCKS = [dt.time(0), dt.time(12, 30), dt.time(23, 59, 59, 999000), dt.time(6)]


def number(v):
    return format(v, "f") if isinstance(v, decimal.Decimal) else repr(v)


def quoted(v):
    return f"'{v}'"


def moment(v):
    return f"'{v.isoformat()}{'Z' if v.tzinfo else ''}'".replace("+00:00", "")


# Of each field: constants, and how the language writes them.
FIELDS = {
    **dict.fromkeys(["i", "oi", "pair.member0", "between"], (INTS, number)),
    **dict.fromkeys(["l", "ol", "rec.x"], (LONGS, number)),
    **dict.fromkeys(["f", "d", "od"], (FLOATS, number)),
    **dict.fromkeys(["s", "os", "rec.os", "pair.member1"], (TEXTS, sql_text)),
    **dict.fromkeys(["color", "ocolor"], (["RED", "GREEN", "BLUE"], sql_text)),
    "raw": (RAWS, lambda v: f"x'{v.hex()}'"),
    "four": ([bytes(4), b"\xff" * 4, b"\1\0\xff\0", b"\x80\0\0\0"], lambda v: f"x'{v.hex()}'"),
    **dict.fromkeys(["day", "oday"], (DAYS, quoted)),
    "clock": (CLOCKS, quoted),
    **dict.fromkeys(["millis", "micros"], ([t.replace(tzinfo=UTC) for t in TIMES], moment)),
    "local": (TIMES, moment),
    "dec": (LONG_DECIMALS, number),
    "money": ([v for v in LONG_DECIMALS if v == round(v, 2) and abs(v) < 10**9], number),
    "uid": (list(map(str, UUIDS)), quoted),
}
NULLABLE = ["oi", "ol", "od", "os", "ocolor", "four", "oday", "micros", "money", "rec.x", "rec.os", "pair.member0", "pair.member1", "between"]
NAMES = {"pair.member0": "pair.int", "pair.member1": "pair.string", "between": "`between`"}


class Conditions:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def condition(self, depth):
        kind = self.r.randrange(5) if depth else 4
        if kind < 2:
            word = ["and", "or"][kind]
            (a, x), (b, y) = self.condition(depth - 1), self.condition(depth - 1)
            return f"({a}) {word} ({b})", [word, x, y]
        if kind == 2:
            a, x = self.condition(depth - 1)
            return f"not ({a})", ["not", x]
        return self.leaf()

    def leaf(self):
        if self.r.random() < 0.2:
            name = self.r.choice(NULLABLE)
            return f"{NAMES.get(name, name)} is null", ["null", name]
        name = self.r.choice(list(FIELDS))
        values, write = FIELDS[name]
        field = NAMES.get(name, name)
        i, k = self.r.randrange(len(values)), self.r.randrange(len(values))
        if self.r.random() < 0.2:
            return f"{field} in ({write(values[i])}, {write(values[k])})", ["or", ["=", name, i], ["=", name, k]]
        op = self.r.choice(list(OPERATORS))
        return f"{field} {op} {write(values[i])}", [op, name, i]


class PyArrow:
    def __init__(self, parts):
        self.dataset = ds.dataset(parts)

    def field(self, name):
        return ds.field(*name.split("."))

    def constant(self, name, value):
        t = None
        for n in name.split("."):
            t = (self.dataset.schema if t is None else t).field(n).type
        return pa.scalar(value, t)

    def compare(self, op, name, value):
        return OPERATORS[op](self.field(name), self.constant(name, value))

    def select(self, condition):
        return self.dataset.to_table(columns=["id"], filter=condition, use_threads=False)["id"].to_pylist()


class Polars:
    def __init__(self, parts):
        self.frame = pl.scan_parquet(parts)
        self.schema = self.frame.collect_schema()

    def field(self, name):
        first, *rest = name.split(".")
        e = pl.col(first)
        for n in rest:
            e = e.struct.field(n)
        return e

    def compare(self, op, name, value):
        field, t = self.field(name), self.schema[name.split(".")[0]]
        constant = pl.lit(value, t if isinstance(t, pl.Decimal) else None)
        e = OPERATORS[op](field, constant)
        return e & field.is_not_nan() if ">" in op and "<" not in op and isinstance(value, float) else e

    def select(self, condition):
        return self.frame.filter(condition).select("id").collect()["id"].to_list()


def filter_of(engine, tree):
    kind, first, *rest = tree
    if kind in ("and", "or"):
        a, b = filter_of(engine, first), filter_of(engine, rest[0])
        return a & b if kind == "and" else a | b
    if kind == "not":
        return ~filter_of(engine, first)
    if kind == "null":
        return engine.field(first).is_null()
    return engine.compare(kind, first, FIELDS[first][0][rest[0]])


def make(avro, path, seed, count):
    rows = conditions.Make(int(seed))
    with open(avro, "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(conditions.SCHEMA), map(rows.row, range(conditions.ROWS)), codec="deflate")
    c = Conditions(int(seed) + 1)
    made = [c.condition(c.r.randrange(4)) for _ in range(int(count))]
    with open(path, "w") as f:
        json.dump([(text, json.dumps(tree)) for text, tree in made], f)
    return 0


def judge(path, answers, *parts):
    with open(path) as f, open(answers) as g:
        asked, answered = json.load(f), json.load(g)
    wrong = selected = 0
    engines = [PyArrow(list(parts)), Polars(list(parts))]
    for (ours, tree), want in zip(asked, answered, strict=True):
        selected += 0 < len(want) < conditions.ROWS
        for engine in engines:
            got = sorted(engine.select(filter_of(engine, json.loads(tree))))
            if got != want:
                wrong += 1
                if wrong <= 20:
                    print(f"{type(engine).__name__}: {ours}\n  {len(got)} rows, and rowtocol has {len(want)}: {sorted(set(got) ^ set(want))[:3]}")
    print(f"{len(asked)} conditions on {len(parts)} parts, of which {selected} select some rows: {wrong} differences")
    return wrong > 0 or selected < len(asked) / 2


def nan(path):
    """Writes 200 rows in pages of 50. d is NaN in the rows 7, 57, 107 and 157, and 1 in the others."""
    fields = [{"name": "id", "type": "long"}, {"name": "d", "type": "double"}]
    schema = pa.schema(
        [pa.field("id", pa.int64(), False), pa.field("d", pa.float64(), False)],
        {"parquet.avro.schema": json.dumps({"type": "record", "name": "R", "fields": fields})})
    table = pa.table([list(range(200)), [math.nan if i % 50 == 7 else 1.0 for i in range(200)]], schema)
    pq.write_table(table, path, write_page_index=True, data_page_size=1, write_batch_size=50, use_dictionary=False)
    d = pq.ParquetFile(path).metadata.row_group(0).column(1)
    return not (d.statistics.min == d.statistics.max == 1 and d.has_column_index)


def find(path):
    """Has each engine find the rows that are NaN by its own order of NaN."""
    frame, rows = pl.scan_parquet(path), ds.dataset(path)
    counts = {
        "pyarrow, d != 1": rows.to_table(filter=ds.field("d") != 1).num_rows,
        "pyarrow, not d < 2": rows.to_table(filter=~(ds.field("d") < 2)).num_rows,
        "Polars, d != 1": frame.filter(pl.col("d") != 1).collect().height,
        "Polars, d > 1": frame.filter(pl.col("d") > 1).collect().height,
        **{f"DuckDB, d {c}": len(duckdb.sql(f"SELECT id FROM '{path}' WHERE d {c}").fetchall()) for c in ("<> 1", "> 1", "= 'NaN'::DOUBLE")},
    }
    print(counts)
    return any(n != 4 for n in counts.values())


if __name__ == "__main__":
    sys.exit({"make": make, "judge": judge, "nan": nan, "find": find}[sys.argv[1]](*sys.argv[2:]))
