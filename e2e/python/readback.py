"""Reads a Parquet file like a program that uses the values.

readback.py ENGINE start
readback.py ENGINE sum FILE COLUMN
readback.py ENGINE columns FILE
readback.py ENGINE rows FILE

ENGINE is pyarrow or duckdb. sum reads only one column and adds it up. columns
reads all columns into the engine's own memory, without assembling rows. rows
makes a Python object of each row. start only imports the modules. One thread
does the work PASSES times, and the result is printed.
"""

import os
import sys


class PyArrow:
    def __init__(self):
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet

        pyarrow.set_cpu_count(1)
        self.sum_of, self.parquet = pyarrow.compute.sum, pyarrow.parquet

    def table(self, path, columns=None):
        with self.parquet.ParquetFile(path) as f:
            return f.read(columns=columns, use_threads=False)

    def sum(self, path, column):
        return self.sum_of(self.table(path, [column])[column]).as_py()

    def columns(self, path):
        return self.table(path).num_rows

    def rows(self, path):
        n = 0
        with self.parquet.ParquetFile(path) as f:
            for batch in f.iter_batches(4096, use_threads=False):
                n += len(batch.to_pylist(maps_as_pydicts="lossy"))
        return n


class DuckDB:
    def __init__(self):
        import duckdb

        self.connection = duckdb.connect(config={"threads": 1})

    def sum(self, path, column):
        return self.connection.sql(f"select sum({column}) from read_parquet('{path}')").fetchone()[0]

    def columns(self, path):
        self.connection.execute(f"create or replace table t as from read_parquet('{path}')")
        return self.connection.sql("select count(*) from t").fetchone()[0]

    def rows(self, path):
        self.connection.execute(f"from read_parquet('{path}')")
        n = 0
        while rows := self.connection.fetchmany(4096):
            n += len(rows)
        return n


def main(engine, what, *args):
    reader = {"pyarrow": PyArrow, "duckdb": DuckDB}[engine]()
    result = 0
    if what != "start":
        for _ in range(int(os.environ.get("PASSES", "1"))):
            result = getattr(reader, what)(*args)
    print(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
