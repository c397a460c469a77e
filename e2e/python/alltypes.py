"""Every type of Avro, in Arrow and in Parquet.

alltypes.py make ALL.avro [WITHOUT...]
alltypes.py nulls NULLS.avro
alltypes.py judge ALL.avro ALL.arrows ALL.parquet STRUCTS.arrows
alltypes.py empty NONE.arrows NONE.parquet
alltypes.py sevenths SOME.arrows SOME.parquet

make writes rows with fastavro, without the columns WITHOUT. nulls writes rows of which
many in a row have only nulls and empty arrays, as pages then do. judge compares
values that pyarrow reads from rowtocol's files with those that fastavro reads
from the original. The columns that an engine cannot read must be those that the
documentation names.
STRUCTS.arrows has structs for unions. empty reads files of all columns and no
rows, sevenths files of three columns and every seventh row.
"""

import datetime as dt
import decimal
import math
import struct
import sys
import uuid

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

decimal.getcontext().prec = 80


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


def record(name, **fields):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


SCHEMA = {
    "namespace": "org.example",
    **record(
        "All",
        id="long",
        nothing="null",
        single=["null", "float"],
        double="double",
        raw="bytes",
        four={"type": "fixed", "name": "Four", "size": 4},
        none={"type": "fixed", "name": "None", "size": 0},
        color=["null", {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN", "BLUE"]}],
        colors={"type": "array", "items": ["null", "Color"]},
        date=logical("int", "date"),
        time_millis=logical("int", "time-millis"),
        time_micros=["null", logical("long", "time-micros")],
        millis=logical("long", "timestamp-millis"),
        micros=logical("long", "timestamp-micros"),
        nanos=logical("long", "timestamp-nanos"),
        local_millis=logical("long", "local-timestamp-millis"),
        local_micros=["null", logical("long", "local-timestamp-micros")],
        local_nanos=logical("long", "local-timestamp-nanos"),
        decimal=logical("bytes", "decimal", precision=20, scale=4),
        money=["null", {**logical("fixed", "decimal", precision=18, scale=2), "name": "Money", "size": 8}],
        big=logical("bytes", "decimal", precision=60, scale=10),
        uuid=logical("string", "uuid"),
        duration={**logical("fixed", "duration"), "name": "Duration", "size": 12},
        union=["null", "string", "long", record("Point", x="int", y=["null", "string"])],
        pair=["int", "string"],
        option=["null", record(
            "Option", n="long", either=["boolean", "string"], tags={"type": "array", "items": "string"},
            inner=["null", record("Inner", z=["null", "long"])])],
        deep={"type": "array", "items": record(
            "Item", m={"type": "map", "values": ["null", {"type": "array", "items": ["null", "double"]}]})},
        empty=["null", record("Empty")],
    ),
}


def row(i):
    return {
        "id": i, "nothing": None,
        "single": [None, 1.5, math.nan, -0.0, math.inf][i % 5], "double": [math.nan, i / 3, -math.inf][i % 3],
        "raw": bytes([i % 256, 255] * (i % 3)), "four": struct.pack(">I", i), "none": b"",
        "color": [None, "RED", "GREEN", "BLUE"][i % 4], "colors": [None, "BLUE", "RED"][: i % 4],
        "date": dt.date(1969, 12, 30) + dt.timedelta(days=i),
        "time_millis": dt.time(i % 24, i % 60, 59, 999000),
        "time_micros": None if i % 3 else dt.time(i % 24, 1, 2, i),
        "millis": dt.datetime(1969, 12, 31, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=i * 7777777),
        "micros": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=i * 7777777),
        "nanos": 1700000000123456789 + i,
        "local_millis": dt.datetime(2024, 3, 31, 2, 30) + dt.timedelta(milliseconds=i),
        "local_micros": None if i % 2 else dt.datetime(2024, 3, 31, 2, 30) + dt.timedelta(microseconds=i),
        "local_nanos": i - 5,
        "decimal": decimal.Decimal(i * i - 5000000).scaleb(-4),
        "money": None if i % 4 == 1 else decimal.Decimal(-i).scaleb(-2),
        "big": decimal.Decimal((-1) ** i * (10**59 + i)).scaleb(-10),
        "uuid": uuid.UUID(int=i), "duration": struct.pack("<III", i, 2**31 + i, 7),
        "union": [None, f"s{i}", i, {"x": i, "y": None if i % 8 == 3 else "why"}][i % 4],
        "pair": i if i % 3 else f"v{i}",
        "option": None if i % 3 == 0 else {
            "n": i, "either": bool(i % 4) if i % 2 else "w", "tags": ["t"] * (i % 4),
            "inner": None if i % 5 else {"z": None if i % 2 else i}},
        "deep": [
            {"m": {f"k{k}": None if (i + k) % 3 == 0 else [None, float(k)] * (k % 3) for k in range(i % 3)}}
            for _ in range(i % 4)],
        "empty": None if i % 2 else {},
    }


ROWS = 3000


def make(path, *without):
    schema = {**SCHEMA, "fields": [f for f in SCHEMA["fields"] if f["name"] not in without]}
    with open(path, "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema), map(row, range(ROWS)), codec="deflate")
    return 0


def nulls(path):
    types = {"int": "int", "long": "long", "double": "double", "text": "string", "raw": "bytes", "truth": "boolean",
             "color": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}}
    schema = record("Nulls", id="int", **{name: ["null", t] for name, t in types.items()},
                    longs={"type": "array", "items": "long"}, truths={"type": "array", "items": ["null", "boolean"]})

    def sparse(i):
        if i % 22_000 < 21_000:
            return {"id": i, "longs": [], "truths": []}
        return {"id": i, "int": i, "long": -i, "double": i / 3, "text": f"s{i}", "raw": b"r%d" % i, "truth": i % 7 < 3,
                "color": ["RED", "GREEN"][i % 2], "longs": [i, i + 1], "truths": [None, True, i % 2 == 0]}

    with open(path, "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema), map(sparse, range(22_000)), codec="deflate")
    return 0


def plain(v):
    """A value in a form in which those of two readers are comparable."""
    if isinstance(v, float) and math.isnan(v):
        return "NaN"
    if isinstance(v, uuid.UUID):
        return str(v)
    if hasattr(v, "nanosecond"):  # pandas, which pyarrow uses for nanoseconds
        return v.value
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, list):
        return [plain(x) for x in v]
    return v


def chosen(branches):
    """The value of the branch that is set in a struct of branches."""
    return next((v for v in branches.values() if v is not None), None)


def unstruct(r):
    """A row in which values replace the structs of unions."""
    r["union"], r["pair"] = r["union"] and chosen(r["union"]), chosen(r["pair"])
    if r["option"] is not None:
        r["option"]["either"] = chosen(r["option"]["either"])
    r["empty"] = {} if r["empty"] else None
    return r


def of_parquet(r):
    """A row of Parquet, which has decimals of more than 38 digits as bytes."""
    r["big"] = decimal.Decimal(int.from_bytes(r["big"], "big", signed=True)).scaleb(-10)
    return unstruct(r)


def compare(name, got, want):
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        for column in w:
            if plain(g[column]) != plain(w[column]):
                print(f"{name}: row {i}: {column} is {g[column]!r}, and should be {w[column]!r}")
                return 1
    return 0


def unreadable(read, columns):
    """The columns that an engine refuses."""
    refused = set()
    for c in columns:
        try:
            read(c)
        except BaseException as e:  # Polars' panics are not Exceptions
            if isinstance(e, (KeyboardInterrupt, SystemExit)):
                raise
            refused.add(c)
    return refused


def duckdb_arrow(table):
    con = duckdb.connect()
    con.register("t", table)
    return con.sql("from t").fetchall()


# The names of the branches of pair, union and option.either.
TYPES = ["int", "string"], ["string", "long", "Point"], ["boolean", "string"]
MEMBERS = [[f"member{i}" for i in range(n)] for n in (2, 3, 2)]


def duckdb_sums(con, source, names):
    pair, union, either = names
    return con.sql(f"""select sum(pair.{pair[0]}), count(pair.{pair[1]}), count("union".{union[0]}), sum("union".{union[1]}),
        sum("union".{union[2]}.x), sum(option.n), count(option.n), count(option.either.{either[1]}), sum(money)::varchar
        from {source}""").fetchall()[0]


def duckdb_arrow_sums(table):
    con = duckdb.connect()
    con.register("t", table.select(UNIONS))
    return duckdb_sums(con, "t", TYPES)


def polars_sums(df, names):
    pair, union, either = names
    f = lambda *path: (lambda e: [e := e.struct.field(p) for p in path[1:]][-1])(pl.col(path[0]))
    return df.select(
        f("pair", pair[0]).cast(pl.Int64).sum().alias("a"), f("pair", pair[1]).count().alias("b"),
        f("union", union[0]).count().alias("c"), f("union", union[1]).sum().alias("d"),
        f("union", union[2], "x").cast(pl.Int64).sum().alias("e"), f("option", "n").sum().alias("f"),
        f("option", "n").count().alias("g"), f("option", "either", either[1]).count().alias("h"),
        pl.col("money").sum().cast(pl.String).alias("i")).row(0)


def sums(rows):
    union, options = [r["union"] for r in rows], [r["option"] for r in rows if r["option"]]
    return (
        sum(r["pair"] for r in rows if isinstance(r["pair"], int)), sum(isinstance(r["pair"], str) for r in rows),
        sum(isinstance(u, str) for u in union), sum(u for u in union if isinstance(u, int)),
        sum(u["x"] for u in union if isinstance(u, dict)), sum(o["n"] for o in options), len(options),
        sum(isinstance(o["either"], str) for o in options), str(sum(r["money"] or 0 for r in rows)))


UNIONS = ["pair", "union", "option", "money"]


def table_of(stream):
    with pa.OSFile(stream) as f:
        arrow = pa.ipc.open_stream(f).read_all()
    arrow.validate(full=True)
    return arrow


def tables(stream, parquet):
    table = pq.read_table(parquet)
    table.validate(full=True)
    return table_of(stream), table


def empty(stream, parquet):
    fields = [f["name"] for f in SCHEMA["fields"]]
    return any(t.column_names != fields or t.num_rows for t in tables(stream, parquet))


def sevenths(stream, parquet):
    want = [
        {"id": r["id"], "option": r["option"] and {"n": r["option"]["n"]}, "deep": r["deep"]}
        for r in map(row, range(3, ROWS, 7))]
    return sum(
        compare("sevenths", t.to_pylist(maps_as_pydicts="strict"), want) for t in tables(stream, parquet))


def judge(avro, stream, parquet, structs):
    with open(avro, "rb") as f:
        want = list(fastavro.reader(f))
    arrow, table = tables(stream, parquet)
    structs = table_of(structs)
    wrong = compare("Arrow", arrow.to_pylist(maps_as_pydicts="strict"), want)
    wrong += compare("Parquet", map(of_parquet, table.to_pylist(maps_as_pydicts="strict")), want)
    wrong += compare("Arrow with structs", map(unstruct, structs.to_pylist(maps_as_pydicts="strict")), want)

    columns, unions = arrow.column_names, {"union", "pair", "option"}
    for name, read, refused in [
        ("pandas, Arrow", lambda c: arrow.select([c]).to_pandas(), unions),
        ("pandas, Parquet", lambda c: table.select([c]).to_pandas(), set()),
        ("DuckDB, Arrow", lambda c: duckdb_arrow(arrow.select([c])), unions | {"big", "empty"}),
        ("pandas, Arrow with structs", lambda c: structs.select([c]).to_pandas(), set()),
        ("DuckDB, Arrow with structs", lambda c: duckdb_arrow(structs.select([c])), {"big"}),
        ("Polars, Arrow with structs", lambda c: pl.from_arrow(structs.select([c])), {"big"}),
        ("DuckDB, Parquet", lambda c: duckdb.sql(f"""select "{c}" from read_parquet('{parquet}')""").fetchall(), set()),
        ("Polars, Arrow", lambda c: pl.from_arrow(arrow.select([c])), unions | {"big"}),
        ("Polars, Parquet", lambda c: pl.read_parquet(parquet, columns=[c]), set()),
    ]:
        if (got := unreadable(read, columns)) != refused:
            wrong += 1
            print(f"{name}: refuses {sorted(got)}, and the documentation says {sorted(refused)}")
    for name, got in [
        ("DuckDB, Parquet", duckdb_sums(duckdb, f"read_parquet('{parquet}')", MEMBERS)),
        ("DuckDB, Arrow with structs", duckdb_arrow_sums(structs)),
        ("Polars, Parquet", polars_sums(pl.read_parquet(parquet, columns=UNIONS), MEMBERS)),
        ("Polars, Arrow with structs", polars_sums(pl.from_arrow(structs.select(UNIONS)), TYPES)),
    ]:
        if got != sums(want):
            wrong += 1
            print(f"{name}: unions: {got}, and should be {sums(want)}")
    print(f"{len(columns)} columns, {len(want)} rows: {wrong} differences")
    return wrong > 0


if __name__ == "__main__":
    sys.exit({"make": make, "nulls": nulls, "judge": judge, "empty": empty, "sevenths": sevenths}[sys.argv[1]](*sys.argv[2:]))
