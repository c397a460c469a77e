"""The rows of an output with increments, or of a tree, as Polars reads them by a pattern.

polarspattern.py DEST ROWS [KEY...]

DEST has ROWS rows. The pattern that docs/reading.md names finds them all, and the keys of a tree as
columns. Polars refuses the directory, because it holds _SUCCESS.
"""

import sys

import polars as pl


def main(dest, rows, *keys):
    frame = pl.scan_parquet(f"{dest}/**/*.parquet", hive_partitioning=bool(keys)).collect()
    assert frame.height == int(rows), (frame.height, rows)
    assert not keys or frame.columns[-len(keys):] == list(keys), frame.columns
    try:
        pl.scan_parquet(dest).collect()
    except pl.exceptions.PolarsError as refused:
        assert "extension" in str(refused), refused
    else:
        raise AssertionError(f"Polars now reads {dest}: docs/reading.md says that it does not")
    print(f"{rows} rows")


main(*sys.argv[1:])
