"""Bloom filters of Parquet files, as DuckDB uses them.

parquetfilters.py make OUT.avro
parquetfilters.py judge PLAIN.parquet FILTERED.parquet

make writes rows whose columns have many values in no order, all of them even in some sense. judge
asks DuckDB which values the filters of the second file exclude: none that the column has, and
nearly all that it does not have. It also compares how much DuckDB reads of each file for a value
that is not there. A value that is there must give the same rows of both files.
"""

import datetime as dt
import random
import sys
import uuid

import duckdb
import fastavro

# DuckDB hashes bytes as it prints them, so that it does not find these, not even in its own files.
UNPRINTABLE = {"mark"}
# The probe hashes microseconds. Queries do not use the filter.
MICROSECONDS = {"millis"}

UTC = dt.timezone.utc
FIRST = dt.datetime(2020, 1, 1)
ROWS = 20_000


def logical(kind, name):
    return {"type": kind, "logicalType": name}


FIELDS = {
    "id": "long", "number": ["null", "int"], "text": ["null", "string"], "raw": "bytes", "few": "string",
    "mark": {"type": "fixed", "name": "Mark", "size": 5}, "color": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN", "BLUE"]},
    "day": logical("int", "date"), "millis": logical("long", "timestamp-millis"), "local": logical("long", "local-timestamp-micros"),
    "clock": logical("long", "time-micros"), "uid": logical("string", "uuid"),
    "rec": ["null", {"type": "record", "name": "Rec", "fields": [{"name": "x", "type": ["null", "long"]}]}],
    "tags": {"type": "array", "items": "string"}, "labels": {"type": "map", "values": ["null", "int"]},
    "early": ["null", "string"], "late": ["null", "string"],
}
SCHEMA = {"type": "record", "name": "Row", "fields": [{"name": n, "type": t} for n, t in FIELDS.items()]}

# The value of a number in a column, which is even for values that are there.
MAKE = {
    "id": lambda n: n, "number": lambda n: n - 10_000_000, "text": lambda n: f"text {n}", "raw": lambda n: b"%d" % n, "few": lambda n: f"few {n % 400}",
    "mark": lambda n: n.to_bytes(5, "big"), "day": lambda n: (FIRST + dt.timedelta(days=n % 20_000)).date(),
    "millis": lambda n: (FIRST + dt.timedelta(milliseconds=n)).replace(tzinfo=UTC), "local": lambda n: FIRST + dt.timedelta(microseconds=n),
    "clock": lambda n: (FIRST + dt.timedelta(microseconds=n)).time(), "uid": lambda n: str(uuid.UUID(int=n << 60 | n)),
}


def make(path):
    r = random.Random(5)
    even = lambda: 2 * r.randrange(10_000_000)

    def row(i):
        return {name: None if name in ("number", "text") and r.random() < 0.3 else of(even()) for name, of in MAKE.items()} | {
            "color": r.choice(["RED", "BLUE"]), "rec": r.choice([None, {"x": None}, {"x": even()}]),
            "tags": [f"tag {even()}" for _ in range(r.randrange(3))], "labels": {f"key {even()}": r.choice([None, even()]) for _ in range(r.randrange(2))},
            "early": f"{i:05} {r.getrandbits(200):x}" if i < ROWS // 10 else None, "late": f"{i:05} {r.getrandbits(200):x}" if i >= ROWS // 10 * 9 else None}

    with open(path, "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(SCHEMA), map(row, range(ROWS)), codec="deflate")
    return 0


def bytes_read():
    with open("/proc/self/io") as f:
        return int(f.readline().split()[1])


def select(file, column, value):
    con = duckdb.connect(config={"threads": 1, "enable_external_file_cache": False})
    con.execute("set timezone = 'UTC'")
    before = bytes_read()
    found = con.execute(f"select count(*), min({column}) from read_parquet(?) where {column} = ?", [file, value]).fetchone()
    return found, bytes_read() - before


def judge(plain, filtered):
    con, wrong, r = duckdb.connect(), 0, random.Random(6)
    con.execute("set timezone = 'UTC'")

    def excluded(column, values):
        ask = lambda v: con.execute("select bool_and(bloom_filter_excludes) from parquet_bloom_probe(?, ?, ?)", [filtered, column, v]).fetchone()[0]
        return sum(ask(v) for v in values)

    for column, of in MAKE.items():
        there = [v for (v,) in con.execute(f"select distinct {column} from read_parquet(?) where {column} is not null limit 100", [filtered]).fetchall()]
        others = [of(2 * r.randrange(10_000_000) + 1) for _ in range(100)]
        lost, kept = excluded(column, there), len(others) - excluded(column, others)
        same = all(select(plain, column, v)[0] == select(filtered, column, v)[0] for v in there[:2])
        print(f"{column}: DuckDB excludes {lost} of {len(there)} values that are there, and leaves {kept} of {len(others)} others; the same rows: {same}")
        wrong += len(there) < 90 or kept > 5 or same == (column in UNPRINTABLE) or (lost > 0) != (column in UNPRINTABLE | MICROSECONDS)
    if excluded("color", ["GREEN"]) != 1 or excluded("color", ["RED", "BLUE"]) != 0:
        print("color: other symbols are excluded")
        wrong += 1
    for column in ("id", "text"):
        missing = MAKE[column](4_000_001)
        (_, all_read), (found, less) = select(plain, column, missing), select(filtered, column, missing)
        print(f"{column}: DuckDB reads {less} bytes for a value that is not there, {all_read} without a filter")
        wrong += found[0] != 0 or not 0 < 2 * less < all_read
    return wrong > 0


if __name__ == "__main__":
    sys.exit({"make": make, "judge": judge}[sys.argv[1]](*sys.argv[2:]))
