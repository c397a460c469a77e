"""Converts and reads on HDFS: python hdfs.py INPUTS DEST."""

import sys
from pathlib import Path

import rowtocol

inputs, dest = sys.argv[1:]
files = sorted(Path(inputs).glob("*.avro"))
made = rowtocol.convert(inputs, dest, index="id")
mail, local = rowtocol.open(dest), rowtocol.open(files)
rows = local.to_arrow()
assert made.rows == mail.count() == rows.num_rows
assert mail.to_arrow().equals(rows)
assert mail.to_arrow(columns="size", where="size > 1000").num_rows == local.count("size > 1000") > 0
assert mail.lookup([3], by="id").column("id").to_pylist() == [3]
assert mail.to_polars().select("size").head(3).collect().height == 3
assert rowtocol.verify(dest, against=files, require_complete=True).rows == made.rows
assert rowtocol.status(dest).raw["exit"] == 0
try:
    rowtocol.open(dest + "-none").count()
except rowtocol.InputError as e:
    assert dest.rpartition("/")[2] + "-none" in str(e)
else:
    raise AssertionError("a missing dataset has rows")
