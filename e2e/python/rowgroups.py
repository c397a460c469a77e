"""Rows of a Parquet file of several row groups.

rowgroups.py ROWS.parquet ROWS DIR

Row i has the number i as id, as word null or "word" with i modulo 1,000, and as
items i modulo 3 numbers from i modulo 100 on. pyarrow writes the first rows to files
of many row groups in DIR.
"""

import sys

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq


def write(table, directory):
    """Writes files with page indexes, which rowtocol needs."""
    for i, options in enumerate([
            dict(compression="snappy"),
            dict(compression="zstd", use_dictionary=False, data_page_version="2.0"),
            dict(compression={"id": "gzip", "word": "none", "items.list.element": "zstd"})]):
        pq.write_table(table, f"{directory}/pyarrow{i}.parquet", row_group_size=700, data_page_size=2000, write_page_index=True, **options)


def main(path, rows, directory):
    rows = int(rows)
    words = sum(1 for i in range(rows) if i % 7)
    items = sum(sum(range(i % 100, i % 100 + i % 3)) for i in range(rows))
    want = (rows, rows * (rows - 1) // 2, words, items)

    file = pq.ParquetFile(path)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    assert [g.num_rows for g in groups] == [1 << 20, rows - (1 << 20)], [g.num_rows for g in groups]
    bounds = [(g.column(0).statistics.min, g.column(0).statistics.max) for g in groups]
    assert bounds == [(0, (1 << 20) - 1), (1 << 20, rows - 1)], bounds

    table = file.read()
    table.validate(full=True)
    pyarrow = (table.num_rows, pc.sum(table["id"]).as_py(), pc.count(table["word"]).as_py(),
               pc.sum(pc.list_flatten(table["items"])).as_py())
    lazy = pl.scan_parquet(path)
    polars = lazy.select(
        pl.len(), pl.col("id").sum(), pl.col("word").count(),
        pl.col("items").list.eval(pl.element().cast(pl.Int64)).list.sum().sum()).collect().row(0)
    engine = duckdb.connect()
    sums = engine.sql(f"select count(*), sum(id), count(word), sum(list_sum(items)) from '{path}'").fetchone()
    for name, got in [("pyarrow", pyarrow), ("Polars", polars), ("DuckDB", sums)]:
        assert got == want, (name, got, want)

    write(table.slice(0, 20_000), directory)

    for i in 0, 5, (1 << 20) - 1, 1 << 20, rows - 1:
        row = (i, f"word {i % 1000}" if i % 7 else None, list(range(i % 100, i % 100 + i % 3)))
        found = [
            ("pyarrow", [tuple(r.values()) for r in pq.read_table(path, filters=[("id", "=", i)]).to_pylist()]),
            ("Polars", lazy.filter(pl.col("id") == i).collect().rows()),
            ("DuckDB", engine.sql(f"select id, word, items from '{path}' where id = {i}").fetchall()),
        ]
        for name, got in found:
            assert got == [row], (name, got, row)


if __name__ == "__main__":
    main(*sys.argv[1:])
