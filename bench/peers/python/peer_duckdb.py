"""Converts an Avro file to Parquet with DuckDB: IN.avro OUT.parquet."""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_avro

[extension] = Path(duckdb_extension_avro.__file__).parent.rglob("avro.duckdb_extension")
connection = duckdb.connect(config={"threads": 1})
connection.load_extension(str(extension))
connection.sql(f"FROM read_avro('{sys.argv[1]}')").write_parquet(sys.argv[2], compression="snappy")
