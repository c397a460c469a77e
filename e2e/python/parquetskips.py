"""How much of Parquet files engines read for a condition that few rows meet.

parquetskips.py FILE...

The files are the parts of the rows of alltypes.py, in order. One row of all is selected by
its id. An engine that uses the statistics reads less than half of what it reads for all rows.
"""

import sys

import duckdb
import pyarrow.dataset as ds

ID = 1500


def with_pyarrow(files, condition):
    f = ds.field("id") == ID if condition else None
    return ds.dataset(files).to_table(filter=f, use_threads=False)["id"].to_pylist()


def with_duckdb(files, condition):
    con = duckdb.connect(config={"threads": 1, "enable_external_file_cache": False})
    where = f"where id = {ID}" if condition else ""
    return [r[0] for r in con.execute(f"from read_parquet({files}) {where}").fetchall()]


def bytes_read():
    with open("/proc/self/io") as f:
        return int(f.readline().split()[1])


def main(*files):
    wrong = 0
    for engine, read in [("pyarrow", with_pyarrow), ("DuckDB", with_duckdb)]:
        cost = {}
        for condition in (True, False, True):  # the first pass also loads the engine
            before = bytes_read()
            ids = read(list(files), condition)
            cost[condition] = bytes_read() - before
            if ids != ([ID] if condition else list(range(len(ids)))):
                wrong += 1
                print(f"{engine}: {len(ids)} rows with {condition=}")
        print(f"{engine}: {cost[True]} bytes for one row, {cost[False]} for all of {len(files)} files")
        wrong += not 0 < 2 * cost[True] < cost[False]
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
