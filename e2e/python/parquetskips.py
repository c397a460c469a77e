"""How much of Parquet files engines read for a condition that one row meets.

parquetskips.py FILE...

The files are the parts of an output, at least six, whose column id increases. An engine that
uses the statistics reads the pages of one part, and the footers and indexes of all.
"""

import sys

import duckdb
import pyarrow.dataset as ds


def with_pyarrow(files, wanted):
    f = None if wanted is None else ds.field("id") == wanted
    return ds.dataset(files).to_table(filter=f, use_threads=False)["id"].to_pylist()


def with_duckdb(files, wanted):
    con = duckdb.connect(config={"threads": 1, "enable_external_file_cache": False})
    where = "" if wanted is None else f"where id = {wanted}"
    rows = con.execute(f"from read_parquet({files}) {where}").to_arrow_table()
    return rows["id"].to_pylist()


def bytes_read():
    with open("/proc/self/io") as f:
        return int(f.readline().split()[1])


def measured(read, *args):
    before = bytes_read()
    result = read(*args)
    return result, bytes_read() - before


def main(*files):
    wrong = 0
    for engine, read, times in [("pyarrow", with_pyarrow, 3), ("DuckDB", with_duckdb, 6)]:
        ids, whole = measured(read, list(files), None)
        wanted = ids[len(ids) // 2]
        read(list(files), wanted)  # which also loads what a condition needs
        found, part = measured(read, list(files), wanted)
        print(f"{engine}: {part} bytes for one row of {len(ids)}, {whole} for all of {len(files)} files")
        wrong += found != [wanted] or ids != sorted(ids) or not 0 < times * part < whole or len(files) < 6
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
