"""Converts an Avro file to Parquet with chdb (ClickHouse): IN.avro OUT.parquet."""

import sys

import chdb

chdb.query(
    f"INSERT INTO FUNCTION file('{sys.argv[2]}', 'Parquet') SELECT * FROM file('{sys.argv[1]}', 'Avro') "
    "SETTINGS max_threads = 1, output_format_parquet_compression_method = 'snappy'"
)
