"""Converts an Avro file to Parquet with fastavro and pyarrow: IN.avro OUT.parquet."""

import sys

from pyarrow.parquet import ParquetWriter

from rows import batches

with open(sys.argv[1], "rb") as file:
    schema, read = batches(file)
    with ParquetWriter(sys.argv[2], schema, compression="snappy") as out:
        for batch in read:
            out.write_batch(batch)
