"""The rows of a tree of key=value directories, as DuckDB reads them.

partitions.py TREE ROWS.parquet KEY...

TREE has a Parquet file for each output of the tree. ROWS has the rows of the whole
tree with the keys as columns, by rowtocol. DuckDB reads the same columns, types and
rows from the names of the directories; pyarrow reads the same columns.
"""

import sys

import duckdb
import pyarrow.dataset


def main(tree, rows, *keys):
    ours = f"read_parquet('{rows}')"
    theirs = f"read_parquet('{tree}/**/*.parquet', hive_partitioning = true)"
    columns = [(name, kind) for name, kind, *_ in duckdb.sql(f"describe select * from {ours}").fetchall()]
    assert [name for name, _ in columns][-len(keys):] == list(keys), columns
    kinds = dict((name, kind) for name, kind, *_ in duckdb.sql(f"describe select * from {theirs}").fetchall())
    assert dict(columns) == kinds, (columns, kinds)
    arrow = pyarrow.dataset.dataset(tree, partitioning="hive")
    assert set(arrow.schema.names) == set(kinds), arrow.schema.names
    names = ", ".join(f'"{name}"' for name, _ in columns)
    got, want = (duckdb.sql(f"select {names} from {of} order by all").fetchall() for of in (ours, theirs))
    assert got == want, (got[:3], want[:3])
    assert len({row[-len(keys):] for row in got}) > 3 and len(got) > 100, len(got)
    print(f"{len(got)} rows of {columns}")


main(*sys.argv[1:])
