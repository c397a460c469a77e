"""Reads Avro files with fastavro as batches of Arrow rows."""

import itertools

import fastavro
import pyarrow

SIMPLE = {
    "boolean": pyarrow.bool_(),
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "float": pyarrow.float32(),
    "double": pyarrow.float64(),
    "bytes": pyarrow.binary(),
    "fixed": pyarrow.binary(),
    "string": pyarrow.string(),
    "enum": pyarrow.string(),
    "timestamp-millis": pyarrow.timestamp("ms", "UTC"),
    "timestamp-micros": pyarrow.timestamp("us", "UTC"),
    "date": pyarrow.date32(),
}


def arrow_type(schema):
    """The Arrow type of an Avro schema as fastavro parses it."""
    if isinstance(schema, list):
        [value] = [s for s in schema if s != "null"]
        return arrow_type(value)
    if isinstance(schema, str):
        return SIMPLE[schema]
    match schema["type"]:
        case "record":
            return pyarrow.struct([field(f) for f in schema["fields"]])
        case "array":
            return pyarrow.list_(arrow_type(schema["items"]))
        case "map":
            return pyarrow.map_(pyarrow.string(), arrow_type(schema["values"]))
        case simple:
            return SIMPLE[schema.get("logicalType", simple)]


def field(f):
    return pyarrow.field(f["name"], arrow_type(f["type"]), nullable=isinstance(f["type"], list))


def batches(file, rows=10_000):
    """The file's Arrow schema and its batches of rows."""
    reader = fastavro.reader(file)
    schema = pyarrow.schema([field(f) for f in reader.writer_schema["fields"]])

    def read():
        while chunk := list(itertools.islice(reader, rows)):
            yield pyarrow.RecordBatch.from_pylist(chunk, schema)

    return schema, read()
