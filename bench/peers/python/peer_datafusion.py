"""Converts an Avro file to Parquet with DataFusion: IN.avro OUT.parquet."""

import sys

from datafusion import SessionConfig, SessionContext

context = SessionContext(SessionConfig().with_target_partitions(1))
context.read_avro(sys.argv[1]).write_parquet(sys.argv[2], compression="snappy")
