"""Reads rowtocol's files with Spark.

spark.py make TIMES.avro
spark.py judge DIR JARS
spark.py files LIST

make writes rows of all times. judge reads the originals DIR/{all,times,mail}.avro,
their Parquet files for Spark next to them, times.exact.parquet, which Spark
refuses, and the Trevni files in mail.columns, each of several blocks of Hadoop's
local file system. JARS are those of trevni-avro. It compares types and times with
fastavro value by value, and the answers of ten queries of mail. files does with Spark
what ../python/parquetfiles.py does with other engines.
"""

import datetime as dt
import glob
import json
import os
import sys
from collections import Counter

import fastavro
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import alltypes  # noqa: E402
import parquetfiles  # noqa: E402
import queries  # noqa: E402

EPOCH = dt.datetime(1970, 1, 1)
TIMES = {
    "type": "record", "name": "Times",
    "fields": [
        {"name": "id", "type": "long"},
        *({"name": f"{name}_{unit}", "type": ["null", alltypes.logical("long", f"{prefix}timestamp-{unit}")]}
          for name, prefix in [("utc", ""), ("local", "local-")] for unit in ["millis", "micros", "nanos"]),
        {"name": "nested", "type": {"type": "array", "items": alltypes.logical("long", "timestamp-nanos")}},
        {"name": "day", "type": alltypes.logical("int", "date")},
        {"name": "hour_millis", "type": alltypes.logical("int", "time-millis")},
        {"name": "hour_micros", "type": ["null", alltypes.logical("long", "time-micros")]},
    ],
}


def times(i):
    """A row, and its form in Spark."""
    micros = (i - 1500) * 86_400_000_000 * 30 + i * 1_001_000  # 1846 to 2093
    stamp = EPOCH + dt.timedelta(microseconds=micros)
    hour = i * 7919 % 86_400_000
    day = dt.date(1400, 1, 1) + dt.timedelta(days=i * 200)
    row = {"id": i, "day": day, "nested": [micros * 1000, -1000][: i % 3], "hour_millis": hour, "hour_micros": hour * 1000 + 1}
    want = {**row, "nested": [stamp, EPOCH - dt.timedelta(microseconds=1)][: i % 3]}
    for column in (c["name"] for c in TIMES["fields"] if c["name"].startswith(("utc", "local"))):
        unit = column.split("_")[1]
        row[column] = None if i % 5 == 0 else {"millis": micros // 1000, "micros": micros, "nanos": micros * 1000}[unit]
        want[column] = None if i % 5 == 0 else stamp
    return row, want


ROWS = 3000


def make(path):
    with open(path, "wb") as out:
        fastavro.writer(out, fastavro.parse_schema(TIMES), (times(i)[0] for i in range(ROWS)))
    return 0


def session(jars=()):
    s = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.jars", ",".join(jars))
        .config("spark.hadoop.fs.local.block.size", str(1 << 20))
        .getOrCreate()
    )
    s.sparkContext.setLogLevel("OFF")
    return s


def values(v):
    """A value of Spark in the form of fastavro."""
    if isinstance(v, bytearray):
        return bytes(v)
    if isinstance(v, dict):
        return {k: values(x) for k, x in v.items()}
    if isinstance(v, list):
        return [values(x) for x in v]
    return v


def for_spark(row):
    """A row of alltypes in Spark's form: times of day are numbers, and times are in UTC."""
    def convert(name, v):
        if isinstance(v, dt.time):
            v = ((v.hour * 60 + v.minute) * 60 + v.second) * 1_000_000 + v.microsecond
            return v // 1000 if name == "time_millis" else v
        return v.replace(tzinfo=None) if isinstance(v, dt.datetime) else v
    return {k: convert(k, v) for k, v in row.items()}


def rows(df):
    return [values(r.asDict(recursive=True)) for r in df.collect()]


def types(spark, dir):
    df = spark.read.parquet(dir + "/all.parquet")
    with open(dir + "/all.avro", "rb") as original:
        want = [{k: v for k, v in for_spark(r).items() if k in df.columns} for r in fastavro.reader(original)]
    wrong = alltypes.compare("types", map(alltypes.unstruct, rows(df.orderBy("id"))), want)
    wrong += alltypes.compare("times", rows(spark.read.parquet(dir + "/times.parquet").orderBy("id")), [times(i)[1] for i in range(ROWS)])
    try:
        spark.read.parquet(dir + "/times.exact.parquet").collect()
        wrong += 1
        print("Spark reads exact times")
    except Exception as e:
        if "Illegal Parquet type" not in str(e):
            raise
    print(f"{len(df.columns)} columns and {len(TIMES['fields'])} of times, {len(want)} rows each: {wrong} differences")
    return wrong


def with_spark(df):
    def pairs(grouped):
        return {r[0]: tuple(r[1:]) if len(r) > 2 else r[1] for r in grouped.collect()}

    hops = df.selectExpr("inline(received)")
    days = df.groupBy(f.date_format("date", "yyyy-MM-dd"), "folder").count()
    best = df.filter("score is not null").orderBy(f.desc("score"), "id").limit(10)
    return [
        df.count(),
        tuple(df.agg(f.sum("size"), f.avg("size")).first()),
        pairs(df.groupBy("from").count()),
        df.select("from").distinct().count(),
        tuple(df.select(*(f.sum(f.col(c).isNull().cast("int")) for c in ("subject", "size", "score"))).first()),
        pairs(df.groupBy(f.size("to")).count()),
        pairs(hops.groupBy("host").agg(f.count("*"), f.max("date"))),
        pairs(df.groupBy(f.col("headers")["User-Agent"]).count()),
        {(day, folder): n for day, folder, n in days.collect()},
        [tuple(r) for r in best.select("score", "id").collect()],
    ]


PROJECTION = {
    "type": "record", "name": "Message", "namespace": "mail",
    "fields": [
        {"name": "size", "type": ["null", "int"]},
        {"name": "received", "type": {"type": "array", "items": {
            "type": "record", "name": "Hop", "fields": [{"name": "host", "type": "string"}]}}},
    ],
}


def trevni(spark, columns, schema=None, whole=True):
    """Rows of Trevni files; whole makes a split of each."""
    conf = {"mapreduce.input.fileinputformat.split.minsize": str(1 << 40)} if whole else {}
    if schema:
        conf["avro.schema.input.key"] = json.dumps(schema)
    pairs = spark.sparkContext.newAPIHadoopFile(
        columns, "org.apache.trevni.avro.mapreduce.AvroTrevniKeyInputFormat",
        "org.apache.avro.mapred.AvroKey", "org.apache.hadoop.io.NullWritable", conf=conf)
    return pairs.map(lambda pair: json.loads(pair[0]))


def mail(spark, dir):
    answers = queries.plain(dir + "/mail.avro")
    got = with_spark(spark.read.parquet(dir + "/mail.parquet"))
    wrong = 0
    for question, w, g in zip(queries.QUESTIONS, answers, got, strict=True):
        if not queries.equal(g, w):
            wrong += 1
            print(f"{question}: {str(g)[:300]}, and should be {str(w)[:300]}")

    columns, parts = dir + "/mail.columns", len(glob.glob(dir + "/mail.columns/part-*"))
    some = trevni(spark, columns, PROJECTION)
    seen = some.collect()
    everything = trevni(spark, columns)
    figures = {
        "messages": (len(seen), answers[0]),
        "sizes": (sum(r["size"] or 0 for r in seen), answers[1][0]),
        "hops": (Counter(h["host"] for r in seen for h in r["received"]), {h: n for h, (n, _) in answers[6].items()}),
        "fields": ({k for r in seen for k in r}, {"size", "received"}),
        "senders": (everything.map(lambda r: r["from"]).countByValue(), answers[2]),
        "splits": (some.getNumPartitions(), parts),
    }
    for what, (g, w) in figures.items():
        if g != w:
            wrong += 1
            print(f"Trevni: {what}: {str(g)[:300]}, and should be {str(w)[:300]}")

    split = trevni(spark, columns, PROJECTION, whole=False)
    multiplied = split.count()
    if not multiplied > answers[0]:
        wrong += 1
        print(f"{parts} files in {split.getNumPartitions()} splits have {multiplied} rows, though each split should have all rows of its file")
    print(f"{answers[0]} messages, {parts} Trevni files: {wrong} wrong answers; "
          f"{multiplied} messages in {split.getNumPartitions()} splits of 1 MiB")
    return wrong


def judge(dir, jars):
    spark = session(glob.glob(jars + "/*.jar"))
    print("Spark", spark.version)
    wrong = types(spark, dir) + mail(spark, dir)
    spark.stop()
    return wrong > 0


class Spark:
    def __init__(self):
        self.session = session()

    def read(self, path):
        try:
            df = self.session.read.parquet(path)
            batches = df._collect_as_arrow()  # which toPandas calls
        except Py4JJavaError as e:
            cause = e.java_exception
            while cause.getCause() is not None:
                cause = cause.getCause()
            raise parquetfiles.Fault(cause.toString()) from e
        return pa.Table.from_batches(batches, None if batches else to_arrow_schema(df.schema))


def files(path):
    spark = Spark()
    parquetfiles.main(path, {"Spark": spark})
    spark.session.stop()
    return 0


if __name__ == "__main__":
    sys.exit({"make": make, "judge": judge, "files": files}[sys.argv[1]](*sys.argv[2:]))
