"""The mails in a directory of Parquet files, as engines read them.

parquetmail.py DIR AVRO...

The files must have the mails of the Avro files. pyarrow reads the directory, and checks the
checksums of all pages. DuckDB and Polars read all Parquet files in it and below it.
"""

import sys

import duckdb
import fastavro
import polars as pl
import pyarrow.dataset as ds


def with_pyarrow(dir):
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    return ds.dataset(dir, format=ds.ParquetFileFormat(default_fragment_scan_options=checked)).to_table()


def with_duckdb(dir):
    return duckdb.sql(f"from read_parquet('{dir}/**/*.parquet')").to_arrow_table()


def with_polars(dir):
    return pl.read_parquet(f"{dir}/**/*.parquet").to_arrow()


def mails(file):
    with open(file, "rb") as f:
        yield from ((m["id"], str(m["subject"])) for m in fastavro.reader(f))


def main(dir, *files):
    want = sorted(m for file in files for m in mails(file))
    wrong = 0
    for read in (with_pyarrow, with_duckdb, with_polars):
        table = read(dir)
        print(f"{read.__name__}: {table.num_rows} rows of {table.num_columns} columns")
        wrong += sorted((m["id"], str(m["subject"])) for m in table.select(["id", "subject"]).to_pylist()) != want
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
