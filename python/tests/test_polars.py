"""Queries of Polars read only what they need, and have the answers of a frame in memory."""

from __future__ import annotations

import datetime
import uuid
from pathlib import Path
from typing import Any

import fastavro
import polars as pl
import pytest
from conftest import MAIL

import rowtocol
from rowtocol import _polars

col = pl.col
CASES: list[tuple[pl.Expr, str | None]] = [
    (col("size") > 1000, "(`size` > 1000)"),
    (pl.lit(1000) <= col("size"), "(`size` >= 1000)"),
    ((col("size") > 1000) & (col("score") > 0.5), "(`size` > 1000)"),
    ((col("size") > 1000) | (col("score") > 0.5), None),
    (~((col("size") > 1000) & (col("score") > 0.5)), None),
    (col("size").is_between(500, 600), "((`size` >= 500) and (`size` <= 600))"),
    (col("size").is_null() | (col("size") != 570), "((`size` is null) or (`size` <> 570))"),
    (~(col("size") == 570), "(`size` <> 570)"),
    (col("subject").is_not_null() & ~col("seen"), "(not (`seen` = true)) and (`subject` is not null)"),
    (col("id").is_in([1, 5, 9999]), "(`id` in (1, 5, 9999))"),
    (col("subject").is_in(["not you in", "it's"]), "(`subject` in ('not you in', 'it''s'))"),
    (col("folder") == "SPAM", "(`folder` = 'SPAM')"),
    (col("folder") == "NONE", "(`folder` = 'NONE')"),  # the program refuses it, and all is read
    (col("folder") != "SPAM", None),
    (~col("subject").is_in(["not you in"]) & (col("size") > 1000), "(`size` > 1000)"),
    (col("from") > "m", None),
    (col("score") > 0.5, None),
    (col("size").eq_missing(570), None),
    (col("size") + 1 > 1000, None),
    (col("date") > datetime.datetime(2010, 1, 2, tzinfo=datetime.timezone.utc), None),
    (col("received").list.len() > 2, None),
    (col("size").is_in([570, None], nulls_equal=True), None),
]


@pytest.mark.parametrize(("predicate", "pushed"), CASES, ids=[str(p)[:40] for p, _ in CASES])
def test_conditions(predicate: pl.Expr, pushed: str | None, mail: rowtocol.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    condition = _polars.condition

    def spy(tree: pl.Expr, schema: pl.Schema) -> str | None:
        asked.append(condition(tree, schema))
        return asked[-1]

    monkeypatch.setattr(_polars, "condition", spy)
    frame = pl.DataFrame(mail)
    got = mail.to_polars().filter(predicate).collect()
    assert got.equals(frame.filter(predicate))
    assert asked == [pushed]
    assert got.height < frame.height
    assert (got.height == 0) == ("NONE" in str(pushed))


def test_uuids(tmp_path: Path) -> None:
    """The program compares UUIDs without regard to case, and Polars compares texts."""
    known = [str(uuid.UUID(int=i << 100)) for i in (10, 11, 12)]
    schema = {"type": "record", "name": "R", "fields": [{"name": "u", "type": {"type": "string", "logicalType": "uuid"}}]}
    with open(tmp_path / "u.avro", "wb") as f:
        fastavro.writer(f, schema, ({"u": u} for u in known))
    lazy = rowtocol.open(tmp_path / "u.avro").to_polars()
    frame = lazy.collect()
    for value in known[1], known[1].upper():
        for predicate in (col("u") == value, col("u") != value, col("u").is_in([value]), ~col("u").is_in([value]), ~(col("u") == value)):
            assert lazy.filter(predicate).collect().equals(frame.filter(predicate)), str(predicate)


def test_columns_and_rows(mail: rowtocol.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    read = rowtocol.Dataset.to_batches

    def spy(self: rowtocol.Dataset, *query: Any, **more: Any) -> Any:
        asked.append(query)
        return read(self, *query, **more)

    monkeypatch.setattr(rowtocol.Dataset, "to_batches", spy)
    lazy, frame = mail.to_polars(), pl.DataFrame(mail)
    asked.clear()
    assert lazy.select("id").head(3).collect().equals(frame.select("id").head(3))
    assert (["id"], None, 3) in asked
    assert lazy.select(pl.len()).collect().item() == 600
    small = col("size") < 600
    assert lazy.head(5).filter(small).collect().equals(frame.head(5).filter(small))
    assert lazy.filter(small).head(5).collect().equals(frame.filter(small).head(5))
    assert lazy.group_by("folder").len().collect().height == 4
    assert lazy.collect(engine="streaming").equals(frame)


def test_keys_of_a_tree(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    for day in ("2026-01-01", "2026-01-02"):
        rowtocol.convert(MAIL / "archive-1.avro", tmp_path / "tree" / f"dt={day}")
    lazy = rowtocol.open(tmp_path / "tree").to_polars()
    day = col("dt") == datetime.date(2026, 1, 2)
    assert lazy.filter(day).select("dt").unique().collect()["dt"].to_list() == [datetime.date(2026, 1, 2)]
    assert _polars.condition(day, lazy.collect_schema()) == "(`dt` = 20455)"
