"""Writes inputs of Iceberg tables, and has engines read the tables.

icebergtables.py serve SCAN
icebergtables.py watch ENGINE TABLE ROWS

serve answers requests: each is a call of a method of Judge, as a JSON text in a line of standard
input. The answer, a JSON text and an empty line, is what is wrong, or null. SCAN is a program that
reads with iceberg-go.

watch reads a table without a pause until standard input ends. Each time, the table must have ROWS
rows of one output: their IDs have no gaps. It prints the numbers of queries and of outputs that it
saw.
"""

import datetime as dt
import decimal
import glob
import importlib
import json
import math
import operator
import os
import re
import sqlite3
import subprocess
import sys
import threading
import traceback
import uuid

import duckdb
import fastavro
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable

import alltypes

# A table has no nanoseconds and no decimals of 60 digits. Spark reads no table with times of day.
LEFT_OUT = {"nothing", "nanos", "local_nanos", "big", "none", "empty"}
TIMES = {"time_millis", "time_micros"}
EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)


def schema(version):
    left_out = LEFT_OUT if version == 3 else LEFT_OUT | TIMES
    fields = [f for f in alltypes.SCHEMA["fields"] if f["name"] not in left_out]
    if version == 2:
        wider = {"single": ["null", "double"], "decimal": alltypes.logical("bytes", "decimal", precision=30, scale=4)}
        fields = [{**f, "type": wider.get(f["name"], f["type"])} for f in fields]
        fields.append({"name": "added", "type": "string"})
    return fastavro.parse_schema({**alltypes.SCHEMA, "fields": fields})


def row(i, version):
    r = alltypes.row(i)
    r["millis"] = EPOCH + dt.timedelta(seconds=i)  # in the order of the rows
    return r | ({"added": f"a{i}", "decimal": r["decimal"] * 10**9} if version == 2 else {})


def expected(files):
    """The rows of Avro files, with the keys in their paths, and with None for columns that a file has not."""
    columns, rows = {}, []
    for name in files:
        with open(name, "rb") as f:
            some = list(fastavro.reader(f))
        keys = {key: dt.date.fromisoformat(day) for key, is_key, day in (p.partition("=") for p in name.split("/")) if is_key}
        rows += [r | keys for r in some]
        columns |= dict.fromkeys([*some[0], *keys])
    return sorted((columns | r for r in rows), key=lambda r: r["id"])


def difference(got, want):
    """What is wrong with rows, or None."""
    got = sorted(got, key=lambda r: r["id"])
    if (a := [r["id"] for r in got]) != (b := [r["id"] for r in want]):
        return f"{len(a)} rows, and should be {len(b)}, such as those with the IDs {sorted(set(a) ^ set(b))[:5]}"
    for g, w in zip(got, want):
        if g.keys() != w.keys():
            return f"the columns are {sorted(g)}, and should be {sorted(w)}"
        g = alltypes.unstruct({**g, "empty": None})
        for column in w:
            if alltypes.plain(g[column]) != alltypes.plain(w[column]):
                return f"row {w['id']}: {column} is {g[column]!r}, and should be {w[column]!r}"
    return None


def pylist(table):
    return table.to_pylist(maps_as_pydicts="strict")


class PyIceberg:
    def load(self, table):
        if table["type"] == "hadoop":
            return StaticTable.from_metadata(metadata(table))
        return load_catalog("default", **{k: table[k] for k in ("type", "uri", "warehouse")}).load_table(table["name"])

    def read(self, table, columns="*", condition="true"):
        """The rows, and the number of files that were read."""
        loaded = self.load(table)
        scan = loaded.scan(condition, tuple(columns.split(",")))
        files = [task.file.file_path for task in scan.plan_files()]
        assert len(files) == len(set(files)), f"a file is in the table twice: {sorted(files)}"
        return pylist(scan.to_arrow()), len(files)


def folder(table):
    return table["warehouse"] + "/" + table["name"].replace(".", "/")


def metadata(table):
    """The location of the metadata of a table."""
    match table["type"]:
        case "hadoop":
            with open(folder(table) + "/metadata/version-hint.text") as f:
                return f"{folder(table)}/metadata/v{f.read().strip()}.metadata.json"
        case "sql":
            with sqlite3.connect(table["uri"].removeprefix("sqlite:///")) as db:
                return db.execute("select metadata_location from iceberg_tables").fetchone()[0]
        case "rest":
            return PyIceberg().load(table).metadata_location


class DuckDB:
    def __init__(self):
        self.con = duckdb.connect()
        for name in "icu", "avro", "iceberg":
            package = importlib.import_module(f"duckdb_extension_{name}")
            file, = glob.glob(os.path.dirname(package.__file__) + "/extensions/*/*.duckdb_extension")
            self.con.execute(f"load '{file}'")
        self.con.execute("set timezone = 'UTC'")

    def read(self, table, columns="*", condition="true"):
        at = folder(table) if table["type"] == "hadoop" else metadata(table)
        query = f"select {columns} from iceberg_scan('{at}') where {condition}"
        rows = pylist(self.con.execute(query).to_arrow_table())
        plan = self.con.execute("explain (analyze, format json) " + query).fetchall()[0][1]
        return rows, int(re.search(r'"Total Files Read": "(\d+)"', plan)[1])


class IcebergGo:
    def __init__(self, program):
        self.program = program

    def read(self, table, columns="*", condition="true"):
        assert columns == "*" and condition == "true"
        out = subprocess.run([self.program, *(table[k] for k in ("type", "uri", "warehouse", "name"))], stdout=subprocess.PIPE, check=True).stdout
        return pylist(pa.ipc.open_stream(out).read_all()), None


class Spark:
    """Spark reads by a catalog of the table's type, and tables of sql by their metadata."""

    def __init__(self):
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "spark"))
        self.spark = importlib.import_module("spark")
        self.session = self.spark.session(glob.glob(os.environ["PYTHONPATH"] + "/jars/iceberg-*.jar"))
        self.session.conf.set("spark.sql.adaptive.enabled", "false")  # plans show metrics
        self.catalogs = {}

    def read(self, table, columns="*", condition="true"):
        if table["type"] == "sql":
            df = self.session.read.format("iceberg").load(metadata(table))
        else:
            df = self.session.table(f"{self.catalog(table)}.{table['name']}")
        df = df.where(condition).select(*columns.split(","))
        zoned = [f.name for f in df.schema if f.dataType.typeName() == "timestamp"]
        rows = self.spark.rows(df)
        for r in rows:
            r.update((c, r[c].replace(tzinfo=dt.timezone.utc)) for c in zoned if r[c])
        return rows, self.files(df)

    def files(self, df):
        nodes = [df._jdf.queryExecution().executedPlan()]
        for node in nodes:
            nodes += [node.children().apply(i) for i in range(node.children().size())]
        return sum(n.metrics().apply("resultDataFiles").value() for n in nodes if n.metrics().contains("resultDataFiles"))

    def catalog(self, table):
        at = table["warehouse"] if table["type"] == "hadoop" else table["uri"]
        if at not in self.catalogs:
            name = self.catalogs[at] = f"c{len(self.catalogs)}"
            self.session.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
            for key, value in {**table, "cache-enabled": "false"}.items():
                if value and key != "name":
                    self.session.conf.set(f"spark.sql.catalog.{name}.{key}", value)
        return self.catalogs[at]


def with_days(got, want):
    """The rows of iceberg-go, which has null for keys of directories, with the keys that it should have."""
    days = {r["id"]: {"dt": r["dt"]} for r in want if "dt" in r}
    assert all(r.get("dt") is None for r in got), "iceberg-go reads keys of directories"
    return [r | days.get(r["id"], {}) for r in got]


class Judge:
    def __init__(self, scan):
        self.makers = {"PyIceberg": PyIceberg, "DuckDB": DuckDB, "iceberg-go": lambda: IcebergGo(scan), "Spark": Spark}
        self.engines = {}

    def engine(self, name):
        if name not in self.engines:
            self.engines[name] = self.makers[name]()
        return self.engines[name]

    def make(self, path, first, last, version=1):
        """Writes rows first to last into an Avro file. Those of version 2 have wider types and a new column,
        those of version 3 times of day."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            fastavro.writer(out, schema(version), (row(i, version) for i in range(first, last)), sync_interval=4000)

    def check(self, table, files, engines, day=None, after=None):
        """Compares a table with the rows of Avro files. If they are given, engines also read the rows of a
        day, and those with IDs after another, and must read fewer files then."""
        rows = expected(files)
        conditions = [("true", rows)]
        if day:
            conditions.append((f"dt = '{day}'", [r for r in rows if r["dt"].isoformat() == day]))
        if after is not None:
            conditions.append((f"millis > '{(EPOCH + dt.timedelta(seconds=after)).isoformat()}'", [r for r in rows if r["id"] > after]))
        for name in engines:
            for condition, want in conditions if name != "iceberg-go" else conditions[:1]:
                got, read = self.engine(name).read(table, condition=condition)
                if name == "iceberg-go":
                    got = with_days(got, want)
                if wrong := difference(got, want):
                    return f"{name}, {condition}: {wrong}"
                if condition == "true":
                    total = read
                elif not 0 < read < total:
                    return f"{name}, {condition}: reads {read} of {total} files"
        return None

    def conditions(self, table, files, engines):
        """Compares what conditions of each scalar column select, which bounds of files must not change."""
        rows = expected(files)
        for column in rows[0]:
            values = [r[column] for r in rows if comparable(r[column])]
            if len(set(map(type, values))) != 1:
                continue  # no values, or those of a union
            for value in values[len(values) // 3], max(values):
                for operator, holds in OPERATORS.items():
                    want = {r["id"] for r in rows if comparable(r[column]) and holds(r[column], value)}
                    for name in engines:
                        condition = f'"{column}" {operator} {literal(value)}'
                        got, read = self.engine(name).read(table, "id", condition)
                        # Engines do not agree about infinity and NaN.
                        got = {r["id"] for r in got if comparable(rows[r["id"]][column])}
                        if got != want:
                            return f"{name}, {condition}: {len(got)} rows in {read} files, and should be {len(want)}"
        return None


OPERATORS = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}


def comparable(v):
    return math.isfinite(v) if isinstance(v, float) else isinstance(v, (int, str, decimal.Decimal, dt.date, dt.time, uuid.UUID))


def literal(v):
    return str(v) if isinstance(v, (int, float, decimal.Decimal)) else f"'{v.isoformat() if hasattr(v, 'isoformat') else v}'"


def serve(*scan):
    # What engines print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    judge = Judge(*scan)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(judge, request.pop("call"))(**request)
        except Exception:
            answer = traceback.format_exc()
        print(json.dumps(answer), end="\n\n", file=answers, flush=True)


def watch(engine, table, rows):
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    reader, seen, queries = {"PyIceberg": PyIceberg, "DuckDB": DuckDB}[engine](), set(), 0
    while not ended.is_set():
        got, _ = reader.read(json.loads(table), "id")
        ids = sorted(r["id"] for r in got)
        assert ids == list(range(ids[0], ids[0] + int(rows))), f"{len(ids)} rows from {ids[0]} to {ids[-1]}"
        seen.add(ids[0])
        queries += 1
    print(queries, len(seen))


if __name__ == "__main__":
    {"serve": serve, "watch": watch}[sys.argv[1]](*sys.argv[2:])
