"""Converts an Avro file to Parquet with Polars: IN.avro OUT.parquet."""

import sys

import polars

polars.read_avro(sys.argv[1]).write_parquet(sys.argv[2], compression="snappy")
