"""Judges a Parquet file by facts of its Avro file.

    facts.py avro IN.avro FACTS.json        collects the facts, with fastavro
    facts.py judge OUT.parquet FACTS.json   prints a line: right, incomplete or wrong, and why

OUT.parquet is a file, or a directory of parts.

The facts of a column are its numbers of values and nulls, and a CRC-32 of its
values in order (for text: of the lengths, and of the bytes). The values of an
array or map are its lengths; its items are separate columns. Types with the same
values count as equal: integers of any width, times of any unit, enum and string.
A map's entries have no order, so they are sorted by key."""

import json
import sys
from glob import glob
from zlib import crc32

import pyarrow
import pyarrow.compute as pc
from pyarrow import types
from pyarrow.parquet import ParquetFile

from rows import batches


class Facts(dict):
    """Facts by column path, added up over batches."""

    def add(self, path, array):
        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if types.is_struct(array.type):
            for name, child in zip(array.type.names, array.flatten()):
                self.add(f"{path}.{name}" if path else name, child)
        elif types.is_map(array.type):
            entry = pyarrow.struct([("key", array.type.key_type), ("value", array.type.item_type)])
            self.add(path, array.cast(pyarrow.list_(entry)))
        elif types.is_list(array.type) or types.is_large_list(array.type):
            self.count(path, array)
            self.values(path, pc.list_value_length(array))
            self.add(f"{path}[]", by_key(pc.list_parent_indices(array), array.flatten()))
        else:
            self.count(path, array)
            self.values(path, array)

    def count(self, path, array):
        fact = self.setdefault(path, {"values": 0, "nulls": 0, "crc": 0})
        fact["values"] += len(array)
        fact["nulls"] += array.null_count

    def values(self, path, array):
        fact, array = self[path], array.drop_null()
        if is_text(array.type):
            array = array.cast(pyarrow.large_binary())
            fact["text"] = crc32(text(array), fact.get("text", 0))
            array = pc.binary_length(array)
        fact["crc"] = crc32(numbers(array), fact["crc"])


def is_text(t):
    return any(is_type(t) for is_type in (
        types.is_string, types.is_large_string, types.is_string_view,
        types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary))


def by_key(row, entries):
    """Entries of maps, also as arrays of keys and values, by row and key."""
    if not types.is_struct(entries.type) or set(entries.type.names) != {"key", "value"}:
        return entries
    key, _ = entries.flatten()
    table = pyarrow.table({"row": row, "key": key.cast(pyarrow.large_binary())})
    return entries.take(pc.sort_indices(table, sort_keys=[("row", "ascending"), ("key", "ascending")]))


def text(array):
    """The bytes of large binaries without nulls, one after another."""
    _, offsets, data = array.buffers()
    offsets = memoryview(offsets).cast("q")
    return memoryview(data or b"")[offsets[array.offset] : offsets[array.offset + len(array)]]


def numbers(array):
    """The bytes of numbers without nulls, as doubles or longs."""
    if types.is_timestamp(array.type):
        array = array.cast(pyarrow.timestamp("us"))
    if types.is_date32(array.type):
        array = array.cast(pyarrow.int32())
    array = array.cast(pyarrow.float64() if types.is_floating(array.type) else pyarrow.int64())
    return memoryview(array.buffers()[1] or b"")[8 * array.offset : 8 * (array.offset + len(array))]


def take(source):
    facts, rows = Facts(), 0
    for batch in source:
        rows += batch.num_rows
        facts.add("", batch.to_struct_array())
    return {"rows": rows, "columns": facts}


def judge(want, got):
    if got["rows"] != want["rows"]:
        return f"wrong: {got['rows']} rows of {want['rows']}"
    missing = [path for path in want["columns"] if path not in got["columns"]]
    if missing:
        return f"incomplete: no {some(missing)}"
    wrong = [path for path in want["columns"] if got["columns"][path] != want["columns"][path]]
    if not wrong:
        return "right"
    ours, theirs = want["columns"][wrong[0]], got["columns"][wrong[0]]
    why = [f"{theirs[k]} {k} of {ours[k]}" for k in ("values", "nulls") if ours[k] != theirs[k]]
    return f"wrong: {some(wrong)}: {' and '.join(why) or 'other values'}"


def some(paths):
    return paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def main(command, file, facts):
    if command == "avro":
        with open(file, "rb") as source, open(facts, "w") as out:
            json.dump(take(batches(source)[1]), out)
    else:
        with open(facts) as want:
            files = sorted(glob(file + "/part-*")) or [file]
            source = (b for f in files for b in ParquetFile(f).iter_batches(16 << 10))
            print(judge(json.load(want), take(source)))


main(*sys.argv[1:])
