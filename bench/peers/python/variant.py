"""Copies an Avro file under another schema that fits the same bytes, for peers
that cannot read ordinary maps: IN.avro OUT.avro KIND. With KIND "strings", map
keys are Java's String; with "pairs", a map is an array of keys and values, with
the same encoding. Without maps in the schema there is no copy."""

import itertools
import json
import shutil
import sys

import fastavro

HEADER = {
    "type": "record",
    "name": "Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
    ],
}


def strings(node):
    return node | {"avro.java.string": "String"}


def pairs(node, number=itertools.count()):
    fields = [{"name": "key", "type": "string"}, {"name": "value", "type": node["values"]}]
    return {"type": "array", "items": {"type": "record", "name": f"Pair{next(number)}", "fields": fields}}


def rewrite(node, change):
    if isinstance(node, list):
        return [rewrite(n, change) for n in node]
    if not isinstance(node, dict):
        return node
    node = {k: rewrite(v, change) for k, v in node.items()}
    return change(node) if node.get("type") == "map" else node


def main(source, target, kind):
    with open(source, "rb") as old:
        header = fastavro.schemaless_reader(old, HEADER)
        schema = json.loads(header["meta"]["avro.schema"])
        changed = rewrite(schema, {"strings": strings, "pairs": pairs}[kind])
        if changed == schema:
            return
        header["meta"]["avro.schema"] = json.dumps(changed).encode()
        with open(target, "wb") as new:
            fastavro.schemaless_writer(new, HEADER, header)
            shutil.copyfileobj(old, new, 1 << 20)


main(*sys.argv[1:])
