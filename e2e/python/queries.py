"""Ten queries of mail, answered by several engines.

queries.py MAIL.avro MAIL.arrows MAIL.parquet

fastavro answers from the rows of the original file with plain loops; pandas,
DuckDB and Polars answer from rowtocol's outputs. All answers must be equal.
"""

import math
import sys
from collections import Counter

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

QUESTIONS = [
    "how many messages there are",
    "sum and mean of the sizes that are known",
    "messages per sender",
    "number of senders",
    "nulls of subject, size and score",
    "messages per number of recipients",
    "hops per host, and the latest date of each",
    "messages per mail program, a header that not all have",
    "messages per day and folder",
    "the ten best scores with their messages",
]


def plain(path):
    with open(path, "rb") as f:
        rows = list(fastavro.reader(f))
    sizes = [r["size"] for r in rows if r["size"] is not None]
    latest = {}
    for r in rows:
        for hop in r["received"]:
            n, date = latest.get(hop["host"], (0, 0))
            latest[hop["host"]] = (n + 1, max(date, hop["date"]))
    scored = [(r["score"], r["id"]) for r in rows if r["score"] is not None]
    return [
        len(rows),
        (sum(sizes), sum(sizes) / len(sizes)),
        dict(Counter(r["from"] for r in rows)),
        len({r["from"] for r in rows}),
        tuple(sum(r[c] is None for r in rows) for c in ("subject", "size", "score")),
        dict(Counter(len(r["to"]) for r in rows)),
        latest,
        dict(Counter(r["headers"].get("User-Agent") for r in rows)),
        dict(Counter((r["date"].strftime("%Y-%m-%d"), r["folder"]) for r in rows)),
        sorted(scored, key=lambda s: (-s[0], s[1]))[:10],
    ]


def with_pandas(table):
    flat = table.select(["id", "date", "folder", "from", "subject", "size", "score"]).to_pandas()
    hops = pa.Table.from_batches(
        pa.RecordBatch.from_struct_array(chunk) for chunk in pc.list_flatten(table["received"]).chunks
    ).to_pandas()
    hosts = hops.groupby("host")["date"].agg(["size", "max"])
    agents = pc.map_lookup(table["headers"], pa.scalar("User-Agent"), "first")
    days = flat.groupby([flat["date"].dt.strftime("%Y-%m-%d"), flat["folder"].astype(str)]).size()
    best = flat[flat["score"].notna()].sort_values(["score", "id"], ascending=[False, True]).head(10)
    return [
        len(flat),
        (int(flat["size"].sum()), float(flat["size"].mean())),
        flat["from"].value_counts().to_dict(),
        flat["from"].nunique(),
        tuple(int(flat[c].isna().sum()) for c in ("subject", "size", "score")),
        pc.list_value_length(table["to"]).to_pandas().value_counts().to_dict(),
        {host: (int(n), int(date)) for host, n, date in hosts.itertuples()},
        dict(Counter(agents.to_pylist())),
        days.to_dict(),
        list(zip(best["score"], best["id"])),
    ]


def with_duckdb(source):
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    if isinstance(source, str):
        con.execute(f"create view mail as from read_parquet('{source}')")
    else:
        con.register("mail", source)

    def rows(sql):
        return con.sql(sql).fetchall()

    return [
        rows("select count(*) from mail")[0][0],
        rows("select sum(size), avg(size) from mail")[0],
        dict(rows('select "from", count(*) from mail group by 1')),
        rows('select count(distinct "from") from mail')[0][0],
        rows("select count(*) - count(subject), count(*) - count(size), count(*) - count(score) from mail")[0],
        dict(rows('select len("to"), count(*) from mail group by 1')),
        {h: (n, d) for h, n, d in rows(
            "select hop.host, count(*), max(hop.date) from (select unnest(received) as hop from mail) group by 1")},
        dict(rows("select headers['User-Agent'], count(*) from mail group by 1")),
        {(d, f): n for d, f, n in rows("select strftime(date, '%Y-%m-%d'), folder::varchar, count(*) from mail group by 1, 2")},
        rows("select score, id from mail where score is not null order by score desc, id limit 10"),
    ]


def with_polars(df):
    hops = df.select(pl.col("received").explode(empty_as_null=False)).unnest("received")
    hosts = hops.group_by("host").agg(pl.len(), pl.col("date").max())
    # Polars keeps a map as a list of pairs.
    agents = [dict(pairs or ()).get("User-Agent") for pairs in df["headers"].to_arrow().to_pylist()]
    days = df.group_by(pl.col("date").dt.strftime("%Y-%m-%d"), pl.col("folder").cast(pl.String)).len()
    best = df.filter(pl.col("score").is_not_null()).sort(["score", "id"], descending=[True, False]).head(10)
    return [
        len(df),
        df.select(pl.col("size").cast(pl.Int64).sum(), pl.col("size").mean().alias("mean")).row(0),
        dict(df.group_by("from").len().iter_rows()),
        df["from"].n_unique(),
        df.select("subject", "size", "score").null_count().row(0),
        dict(df.group_by(pl.col("to").list.len()).len().iter_rows()),
        {h: (n, d) for h, n, d in hosts.iter_rows()},
        dict(Counter(agents)),
        {(d, f): n for d, f, n in days.iter_rows()},
        best.select("score", "id").rows(),
    ]


def equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return a == b


def main(avro, stream, parquet):
    want = plain(avro)
    with pa.OSFile(stream) as f:
        arrow = pa.ipc.open_stream(f).read_all()
    arrow.validate(full=True)
    table = pq.read_table(parquet)
    table.validate(full=True)
    answers = {
        "pandas on Arrow": with_pandas(arrow),
        "pandas on Parquet": with_pandas(table),
        "DuckDB on Arrow": with_duckdb(arrow),
        "DuckDB on Parquet": with_duckdb(parquet),
        "Polars on Arrow": with_polars(pl.from_arrow(arrow)),
        "Polars on Parquet": with_polars(pl.read_parquet(parquet)),
    }
    wrong = 0
    for engine, got in answers.items():
        for question, w, g in zip(QUESTIONS, want, got, strict=True):
            if not equal(w, g):
                wrong += 1
                print(f"{engine}: {question}: {str(g)[:300]}, and should be {str(w)[:300]}")
    print(f"{len(answers)} readers, {len(QUESTIONS)} questions, {want[0]} messages: {wrong} wrong answers")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
