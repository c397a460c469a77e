"""Pages as parquet-cli shows them, compared with the values of fastavro.

parquetcli.py ALL.avro COLUMN-INDEX PAGES

The first file has rows of alltypes.py, the others what the commands column-index and pages
print of their Parquet file.
"""

import datetime as dt
import decimal
import re
import sys
import uuid

import fastavro

# The values of rows in a column, and what reads a bound of it.
COLUMNS = {
    "id": (lambda r: [r["id"]], int),
    "single": (lambda r: [r["single"]], lambda s: float(s.replace("Infinity", "inf"))),
    "double": (lambda r: [r["double"]], lambda s: float(s.replace("Infinity", "inf"))),
    "color": (lambda r: [r["color"]], str),
    "date": (lambda r: [r["date"]], dt.date.fromisoformat),
    "decimal": (lambda r: [r["decimal"]], decimal.Decimal),
    "money": (lambda r: [r["money"]], decimal.Decimal),
    "uuid": (lambda r: [r["uuid"]], uuid.UUID),
    "union.member2.x": (lambda r: [r["union"]["x"] if isinstance(r["union"], dict) else None], int),
    "option.n": (lambda r: [r["option"] and r["option"]["n"]], int),
    "colors.list.element": (lambda r: r["colors"] or [None], str),
}


def columns(lines, heading):
    """The lines about each column, which begin with page-N or R-N."""
    found, some = {}, None
    for line in lines:
        if match := re.fullmatch(heading, line.strip()):
            some = found.setdefault(match[1], [])
        elif some is not None and re.match(r" *(page-|\d+-)\d", line):
            some.append(line.split())
        elif not re.match(r"Boundary order|\s|-", line):
            some = None
    return found


def main(avro, index, pages):
    with open(avro, "rb") as f:
        rows = list(fastavro.reader(f))
    with open(index) as f, open(pages) as g:
        text, counts = f.read().splitlines(), columns(g, "Column: (.*)")
    bounds, places = columns(text, "column index for column (.*):"), columns(text, "offset index for column (.*):")
    wrong = compared = 0
    for name, (of, parse) in COLUMNS.items():
        firsts = [int(place[3]) for place in places[name]]
        want = []
        for first, end in zip(firsts, firsts[1:] + [len(rows)]):
            values = [v for r in rows[first:end] for v in of(r)]
            known = [v for v in values if v is not None]
            want.append((len(values), values.count(None), min(known), max(known)))
        if any(v != v for r in rows for v in of(r)):  # a column with NaN has no bounds
            want = [w[:1] for w in want]
            got = [(int(count[4]), *bounds[name]) for count in counts[name]]
        else:
            got = [(int(count[4]), int(bound[1]), parse(bound[2]), parse(bound[3])) for count, bound in zip(counts[name], bounds[name], strict=True)]
        compared += len(got)
        if got != want or len(got) < 2:
            wrong += 1
            print(f"{name}: pages of {got}, and should be {want}")
    print(f"{compared} pages of {len(COLUMNS)} columns: {wrong} wrong columns")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
