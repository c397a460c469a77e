"""Rows of Avro files in the shape that they have in Parquet.

Avro's binary encoding has no names, so fastavro can read rows with another schema that has
the same encoding. Schema makes one whose rows look like those of Parquet: a map is an array
of records of a key and a value, each branch of a union is in a record of its own, an enum is
its ordinal, and logical types are left out. Names and defaults that fastavro would refuse
are not in it.
"""

import io
import itertools
import json
import math
from dataclasses import dataclass, field

import fastavro


@dataclass
class Leaf:
    kind: str  # of Avro, or "presence" for what has no fields
    logical: str = ""  # of the types that Parquet shows
    size: int = 0
    precision: int = 0
    scale: int = 0
    symbols: list = None


@dataclass
class Optional:
    of: object


@dataclass
class List:
    of: object
    map: bool = False


@dataclass
class Record:
    fields: list  # of name, field in the rows of fastavro, and type


PRIMITIVE = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
LOGICAL = {
    "date": "int", "time-millis": "int", "time-micros": "long",
    **{f"{kind}-{unit}": "long" for kind in ("timestamp", "local-timestamp") for unit in ("millis", "micros", "nanos")},
}


def place(node):
    """The node of an item or a branch, which is there even if it has no fields."""
    return Leaf("presence") if node == Record([]) else node


def is_null(t):
    return t == "null" or isinstance(t, dict) and t.get("type") == "null"


class Schema:
    """A schema: avro is the one that fastavro reads with, root the shape of its rows."""

    def __init__(self, text):
        self.named, self.names = {}, itertools.count()
        t = json.loads(text)
        self.avro, self.root = self.type(t, "")
        if not isinstance(self.root, Record) or isinstance(self.avro, list):
            name = "union" if isinstance(t, list) else t if isinstance(t, str) else t["type"]
            if name in ("enum", "fixed"):
                name = next(iter(self.named))
            self.avro, self.root = self.record([self.avro]), Record([(name, "f0", place(self.root))])

    def type(self, t, space):
        """The schema and the shape of a type, whose names are in the namespace space."""
        if isinstance(t, list):
            return self.union(t, space)
        if isinstance(t, str):
            if t in PRIMITIVE:
                return t, self.leaf(t, {})
            name = t if "." in t or not space else f"{space}.{t}"
            return self.type(*self.named[name if name in self.named else t])
        kind = t["type"]
        if not isinstance(kind, str):
            return self.type(kind, space)
        if kind in ("record", "error", "enum", "fixed"):
            outer, space, name = space, t.get("namespace", space), t["name"]
            if "." in name:
                space = name.rpartition(".")[0]
            self.named[name if "." in name or not space else f"{space}.{name}"] = t, outer
        match kind:
            case "record" | "error":
                types = [(f["name"], *self.type(f["type"], space)) for f in t["fields"]]
                fields = [(name, f"f{i}", node) for i, (name, _, node) in enumerate(types) if node != Record([])]
                return self.record([avro for _, avro, _ in types]), Record(fields)
            case "enum":
                return "int", Leaf("enum", symbols=t["symbols"])
            case "fixed":
                return {"type": "fixed", "name": self.name(), "size": t["size"]}, self.leaf(kind, t)
            case "array":
                avro, node = self.type(t["items"], space)
                return {"type": "array", "items": avro}, List(place(node))
            case "map":
                avro, node = self.type(t["values"], space)
                entry = Record([("key", "f0", Leaf("string")), ("value", "f1", place(node))])
                return {"type": "array", "items": self.record(["string", avro])}, List(entry, map=True)
        if kind in PRIMITIVE:
            return kind, self.leaf(kind, t)
        return self.type(kind, space)

    def name(self):
        return f"n{next(self.names)}"

    def record(self, types, first=0):
        fields = [{"name": f"f{i}", "type": t} for i, t in enumerate(types, first)]
        return {"type": "record", "name": self.name(), "fields": fields}

    def union(self, branches, space):
        null = any(map(is_null, branches))
        if len(branches) == 2 and null:
            types = [("null", None) if is_null(b) else self.type(b, space) for b in branches]
            (node,) = [place(node) for _, node in types if node]
            return [avro for avro, _ in types], Optional(node)
        union, fields = [], []
        for b in branches:
            if is_null(b):
                union.append("null")
                continue
            avro, node = self.type(b, space)
            i = len(fields)
            union.append(self.record([avro], first=i))
            fields.append((f"member{i}", f"f{i}", Optional(place(node))))
        node = Record(fields)
        return union, Optional(node) if null and fields else node

    def leaf(self, kind, t):
        if kind == "null":
            return Optional(Leaf("null"))
        logical, size, precision, scale = t.get("logicalType"), t.get("size", 0), t.get("precision", 0), t.get("scale", 0)
        if logical == "decimal" and kind in ("bytes", "fixed"):
            digits = 38 if kind == "bytes" else min(38, math.floor(math.log10(2) * (8 * size - 1)))
            if not (0 <= scale <= precision and 0 < precision <= digits) or size > 16:
                logical = None
        elif LOGICAL.get(logical) != kind:
            logical = None
        return Leaf(kind, logical or "", size, precision, scale)


HEADER = fastavro.parse_schema({"type": "record", "name": "Header", "fields": [
    {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
    {"name": "meta", "type": {"type": "map", "values": "bytes"}},
    {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
]})


def read(path):
    """The schema of an Avro file, and an iterator over its rows."""
    with open(path, "rb") as f:
        header = fastavro.schemaless_reader(f, HEADER, None)
        meta, file = header["meta"], io.BytesIO()
        schema = Schema(meta["avro.schema"])
        header["meta"] = {"avro.codec": meta.get("avro.codec", b"null"), "avro.schema": json.dumps(schema.avro).encode()}
        fastavro.schemaless_writer(file, HEADER, header)
        file.write(f.read())
    file.seek(0)
    return schema, fastavro.reader(file)


@dataclass
class Column:
    """The values of a place in the schema, one for each time that all places above it have one."""

    path: str
    node: object = None
    present: list = None  # whether each value of an optional place is not null
    lengths: list = None  # of the lists
    children: list = field(default_factory=list)
    values: list = None  # of a leaf, without nulls
    absent: int = 0  # entries of a leaf that have no value

    def leaves(self):
        return [self] if self.values is not None else [leaf for c in self.children for leaf in c.leaves()]


def column(node, values, path="", absent=0):
    """The column of values in the shape node, with all columns below it."""
    c = Column(path)
    if isinstance(node, Optional):
        c.present = [v is not None for v in values]
        absent += c.present.count(False)
        values, node = [v for v in values if v is not None], node.of
    c.node = node
    if isinstance(node, List):
        c.lengths = [len(v) for v in values]
        below = path + (".key_value" if node.map else ".list.element")
        c.children = [column(node.of, list(itertools.chain.from_iterable(values)), below, absent + c.lengths.count(0))]
    elif isinstance(node, Record):
        for name, key, child in node.fields:
            c.children.append(column(child, [v.get(key) for v in values], f"{path}.{name}" if path else name, absent))
    else:
        c.absent, c.values = absent, values
        if node.kind == "enum":
            c.values = [node.symbols[v] for v in values]
        elif node.kind == "presence":
            c.values = [True] * len(values)
    return c
