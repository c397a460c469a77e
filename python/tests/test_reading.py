"""Reading gives the values that fastavro reads, to each library that takes Arrow."""

from __future__ import annotations

import datetime
import io
import math
import pickle
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pandas
import polars
import pyarrow as pa
import pytest
from conftest import MAIL, ROOT

import rowtocol

FILES = sorted((ROOT / "testdata").glob("*/*.avro"))


HEADER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
        ],
    }
)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file. Metadata that fastavro would refuse are left out."""
    clean = io.BytesIO()
    with open(path, "rb") as f:
        header = fastavro.schemaless_reader(f, HEADER, None)
        header["meta"] = {k: v for k, v in header["meta"].items() if k in ("avro.schema", "avro.codec")}
        fastavro.schemaless_writer(clean, HEADER, header)
        clean.write(f.read())
    clean.seek(0)
    return list(fastavro.reader(clean))


def same(got: Any, want: Any) -> bool:
    """Report whether a value of pyarrow is one of fastavro. A union is a struct of its types."""
    if isinstance(want, float):
        return (isinstance(got, float) and (got == want or (math.isnan(got) and math.isnan(want)))) or in_union(got, want)
    if isinstance(want, list):
        return (isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))) or in_union(got, want)
    if isinstance(want, dict):
        if isinstance(got, list):
            got = dict(got)
        return (isinstance(got, dict) and got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)) or in_union(got, want)
    if isinstance(want, datetime.datetime) and isinstance(got, datetime.datetime):
        return bool(got == want)
    return (type(got) is type(want) and bool(got == want)) or in_union(got, want)


def in_union(got: Any, want: Any) -> bool:
    """Report whether one member of a union is the value, and all others are null."""
    if not isinstance(got, dict) or not got or (isinstance(want, dict) and got.keys() == want.keys()):
        return False
    present = [v for v in got.values() if v is not None]
    return not present if want is None else len(present) == 1 and same(present[0], want)


def test_same() -> None:
    assert same({"v.int": 1, "v.string": None}, 1)
    assert same([("a", 1)], {"a": 1})
    assert not same({"v.int": 2, "v.string": None}, 1)
    assert not same([1, 2], [1, 3])
    assert not same(1, 1.0)
    assert not same({"a": 1}, {"a": 2})
    assert not same(None, 0)


@pytest.mark.parametrize("converted", [False, True], ids=["avro", "columns"])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_values(path: Path, converted: bool, tmp_path: Path) -> None:
    source: Path = path
    if converted:
        source = tmp_path / "columns"
        rowtocol.convert(path, source)
    got, want = rowtocol.open(source).to_arrow().to_pylist(), rows_of(path)
    assert len(got) == len(want) > 0
    for g, w in zip(got, want, strict=True):
        assert same(g, w), f"{g}\n{w}"


def test_libraries(mail: rowtocol.Dataset) -> None:
    sizes = [row["size"] for path in sorted(MAIL.glob("*.avro")) for row in rows_of(path)]
    assert None in sizes
    frames = {
        "pyarrow": pa.table(mail)["size"].to_pylist(),
        "pandas": [None if pandas.isna(v) else v for v in mail.to_pandas()["size"]],
        "polars": polars.DataFrame(mail)["size"].to_list(),
        "lazy": mail.to_polars().select("size").collect()["size"].to_list(),
        "duckdb": [v for (v,) in duckdb.sql("select size from mail").fetchall()],
    }
    for library, got in frames.items():
        assert got == sizes, library


def test_query(mail: rowtocol.Dataset) -> None:
    table = mail.to_arrow(columns=["size", "from"], where="size > 1000", limit=3)
    assert table.schema.names == ["size", "from"]
    assert table.num_rows == 3
    assert min(table["size"].to_pylist()) > 1000
    assert mail.to_arrow("from,size", limit=1).schema.names == ["from", "size"]
    assert mail.to_arrow(["received.host"], limit=1).to_pylist()[0].keys() == {"received"}
    assert mail.schema.field("size").type == pa.int32()
    assert mail.head(2).num_rows == 2
    assert mail.count() == 600
    assert mail.count("size > 1000") == mail.to_arrow(where="size > 1000").num_rows > 0


def test_integers_with_nulls(mail: rowtocol.Dataset) -> None:
    assert str(mail.to_pandas("size").dtypes["size"]) == "int32[pyarrow]"
    assert str(mail.to_pandas("size", types_mapper=None).dtypes["size"]) == "float64"


def test_figures(mail: rowtocol.Dataset) -> None:
    (size,) = mail.stats("size")
    assert (size["nulls"], size["min"], size["max"]) == (70, 303, 1188)
    assert mail.inspect()["rows"] == 600


def test_lookup(mail: rowtocol.Dataset) -> None:
    found = mail.lookup([17, 3, 9999, 17], by="id", columns=["id", "date"])
    assert found["id"].to_pylist() == [17, 3, 17]
    assert found.schema == mail.to_arrow(["id", "date"], limit=0).schema
    assert mail.lookup(17, by="id")["id"].to_pylist() == [17]
    (folder,) = mail.lookup(17, by="id")["folder"].to_pylist()
    assert mail.lookup([(folder, 17)], by="folder,id")["id"].to_pylist() == [17]
    all_ids = mail.to_arrow("id")["id"].to_pylist()
    assert mail.lookup(dict.fromkeys(all_ids), by="id", columns="id")["id"].to_pylist() == sorted(all_ids, key=all_ids.index)
    with pytest.raises(rowtocol.UsageError, match="has the type long"):
        mail.lookup("x", by="id")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([datetime.datetime(2025, 1, 31, 12, 30, 0, 1000, datetime.timezone.utc)], {"type": "long", "logicalType": "timestamp-millis"}),
        ([b"\x00\xff", b"a"], "bytes"),
        (['two\nlines "quoted"', "[1]", ""], "string"),
        ([1.5, -0.25], "double"),
        ([True], "boolean"),
        ([datetime.date(2025, 1, 31)], {"type": "int", "logicalType": "date"}),
    ],
)
def test_kinds_of_keys(values: list[Any], kind: Any, tmp_path: Path) -> None:
    with open(tmp_path / "a.avro", "wb") as f:
        fastavro.writer(f, {"type": "record", "name": "R", "fields": [{"name": "k", "type": kind}]}, [{"k": v} for v in values])
    rowtocol.convert(tmp_path / "a.avro", tmp_path / "out", index="k")
    assert rowtocol.open(tmp_path / "out").lookup(values)["k"].to_pylist() == values


def test_places(mail: rowtocol.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree").mkdir()
    for day in ("dt=2026-01-01", "dt=2026-01-02"):
        rowtocol.convert(MAIL / "archive-1.avro", tmp_path / "tree" / day)
    tree = rowtocol.open(tmp_path / "tree")
    once = rowtocol.open(MAIL / "archive-1.avro").count()
    assert tree.schema.field("dt").type == pa.date32()
    assert tree.count("dt = '2026-01-02'") == once
    assert rowtocol.open(str(tmp_path / "tree" / "dt=*")).count() == 2 * once
    assert rowtocol.open([MAIL / "archive-1.avro", MAIL / "archive-2.avro"]).count() == mail.count() > once
    monkeypatch.chdir(tmp_path)
    rowtocol.convert(MAIL / "archive-1.avro", "-odd")
    assert rowtocol.open("-odd").count() == once


def test_dataset_is_a_value(mail: rowtocol.Dataset) -> None:
    assert pickle.loads(pickle.dumps(mail)) == mail
    assert repr(rowtocol.open("a")) == "rowtocol.open('a')"
    assert repr(rowtocol.open(["a", "b"], workers=1)) == "rowtocol.open(['a', 'b'])"
    with pytest.raises(AttributeError):
        mail.paths = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="columns is empty"):
        mail.to_arrow(columns=[])
    with pytest.raises(ValueError, match="twice: id, size, id"):
        mail.to_arrow(columns="id, size, id")
    assert mail.head(1, columns="size, id").column_names == ["size", "id"]


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda d: d.to_arrow("sise"), rowtocol.UsageError, "did you mean size"),
        (lambda d: d.count("sise > 1"), rowtocol.UsageError, "did you mean size"),
        (lambda d: rowtocol.open("/missing").schema, rowtocol.InputError, "/missing does not exist"),
        (lambda d: rowtocol.open(d.paths[0], memory="1MiB").count(), rowtocol.UsageError, "--memory must be at least"),
    ],
)
def test_errors(mail: rowtocol.Dataset, use: Any, error: type[rowtocol.RowtocolError], text: str) -> None:
    with pytest.raises(error, match=text) as raised:
        use(mail)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.code, again.kind) == (str(raised.value), raised.value.code, raised.value.kind)
