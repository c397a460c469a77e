"""Random conditions, in rowtocol's language and in DuckDB's SQL.

conditions.py make ROWS.avro CONDITIONS.json SEED COUNT
conditions.py judge ROWS.parquet CONDITIONS.json ANSWERS.json

make writes rows of awkward values with fastavro, and COUNT conditions, each a
pair of texts. judge has DuckDB answer the second texts from rowtocol's Parquet
file or files, and compares with rowtocol's answers to the first.

Where the two differ on purpose, the SQL expresses rowtocol's meaning: NaN is
unequal to all and has no order, while in DuckDB it is the greatest number and
equals itself. Integers compare with doubles exactly, and 64-bit integers wrap.
"""

import datetime as dt
import decimal
import json
import math
import random
import sys
import uuid

import duckdb
import fastavro

decimal.getcontext().prec = 80
UTC = dt.timezone.utc


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


def record(name, **fields):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


SCHEMA = record(
    "Row", id="long", i="int", oi=["null", "int"], l="long", ol=["long", "null"], f="float", d="double", od=["null", "double"],
    s="string", os=["null", "string"], b="boolean", ob=["null", "boolean"], raw="bytes",
    four=["null", {"type": "fixed", "name": "Four", "size": 4}],
    color={"type": "enum", "name": "Color", "symbols": ["RED", "GREEN", "BLUE"]}, ocolor=["null", "Color"],
    day=logical("int", "date"), oday=["null", logical("int", "date")], clock=logical("int", "time-millis"),
    millis=logical("long", "timestamp-millis"), micros=["null", logical("long", "timestamp-micros")],
    local=logical("long", "local-timestamp-micros"),
    dec=logical("bytes", "decimal", precision=20, scale=4),
    money=["null", {**logical("fixed", "decimal", precision=12, scale=2), "name": "Money", "size": 6}],
    uid=logical("string", "uuid"), rec=["null", record("Rec", x="long", os=["null", "string"], ints={"type": "array", "items": "int"})],
    pair=["null", "int", "string"], tags={"type": "array", "items": "string"}, otags=["null", {"type": "array", "items": ["null", "string"]}],
    nums={"type": "array", "items": ["null", "int"]},
    hops={"type": "array", "items": record("Hop", host="string", port=["null", "int"], seen={"type": "array", "items": "long"})},
    labels={"type": "map", "values": "string"}, olabels=["null", {"type": "map", "values": ["null", "int"]}],
)
# Fields whose names are words of the language.
SCHEMA["fields"].append({"name": "between", "type": ["null", "int"]})
SCHEMA["fields"].append({"name": "null", "type": "int"})

TEXTS = ["", "a", "A", "ab", "aB", "abc", "alpha", "Alpha", "it's", "50%", "a_c", "a\\c", "Zoë", "zoË", "日本", "日", "𝄞x", "x\ny", " ", "b", "!"]
INTS = [0, 1, -1, 2, 3, 7, -7, 100, 2**31 - 1, -(2**31)]
LONGS = INTS + [2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1, 1735689600000]
DOUBLES = [0.0, -0.0, 0.1, 0.5, -0.5, 1.0, 1.5, 2.0, -7.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, float(2**53), 100.0]
FLOATS = [0.0, -0.0, 0.1, 0.5, 1.0, -7.0, 1e30, math.inf, -math.inf, math.nan, 100.25]
RAWS = [b"", b"\0", b"\xff", b"a", b"ab", b"\x0a\xff", b"\x80\0"]
DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2025, 1, 31), dt.date(2025, 2, 1), dt.date(1900, 2, 28), dt.date(2024, 2, 29)]
TIMES = [
    dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(1970, 1, 1), dt.datetime(2025, 1, 31), dt.datetime(2025, 1, 31, 12),
    dt.datetime(2025, 1, 31, 12, 0, 0, 1000), dt.datetime(1900, 2, 28, 1, 2, 3), dt.datetime(2262, 1, 1), dt.datetime(1600, 1, 1)]
CLOCKS = [dt.time(0), dt.time(12, 30), dt.time(23, 59, 59, 999000), dt.time(0, 0, 0, 1000)]
DECIMALS = [decimal.Decimal(x) for x in ("0", "12.34", "-12.34", "0.01", "-0.01", "999.99", "-1000", "100", "7", "0.5")]
LONG_DECIMALS = DECIMALS + [decimal.Decimal(x) for x in ("0.0001", "-0.0001", "9999999999999999.9999", "-9999999999999999.9999", "12.345")]
UUIDS = [uuid.UUID(int=x) for x in (0, 1, 2**127, 2**128 - 1, 0x123E4567E89B12D3A456426614174000)]


class Make:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.missing = self.few = None

    def one(self, values):
        return self.r.choice(values)

    def chance(self, p):
        return self.r.random() < p

    def begin(self, i):
        """From time to time, chooses few values and how many of them are missing, so that pages differ."""
        if i % 150 == 0:
            self.missing = self.one([0, 0.25, 1]) if self.chance(0.7) else None
            self.few = {} if self.chance(0.7) else None

    def maybe(self, f, *args):
        return None if self.chance(0.25 if self.missing is None else self.missing) else f(*args)

    def some_of(self, values):
        if self.few is None:
            return self.one(values)
        return self.one(self.few.setdefault(tuple(values), self.r.sample(values, 2)))

    def some(self, f, most=3):
        return [f() for _ in range(self.r.randrange(most + 1))]

    def row(self, i):
        self.begin(i)
        text, small = lambda: self.some_of(TEXTS), lambda: self.some_of(INTS)
        return {
            "id": i, "i": small(), "oi": self.maybe(small), "l": self.some_of(LONGS), "ol": self.maybe(self.some_of, LONGS),
            "f": self.some_of(FLOATS), "d": self.some_of(DOUBLES), "od": self.maybe(self.some_of, DOUBLES), "s": text(), "os": self.maybe(text),
            "b": self.chance(0.5), "ob": self.maybe(self.chance, 0.5), "raw": self.some_of(RAWS),
            "four": self.maybe(lambda: bytes(self.some_of([0, 1, 255]) for _ in range(4))),
            "color": self.some_of(["RED", "GREEN", "BLUE"]), "ocolor": self.maybe(self.some_of, ["RED", "BLUE"]),
            "day": self.some_of(DAYS), "oday": self.maybe(self.some_of, DAYS), "clock": self.some_of(CLOCKS),
            "millis": self.some_of(TIMES).replace(tzinfo=UTC), "micros": self.maybe(lambda: self.some_of(TIMES).replace(tzinfo=UTC)),
            "local": self.some_of(TIMES), "dec": self.some_of(LONG_DECIMALS), "money": self.maybe(self.some_of, DECIMALS), "uid": self.some_of(UUIDS),
            "rec": self.maybe(lambda: {"x": self.some_of(LONGS), "os": self.maybe(text), "ints": self.some(small)}),
            "pair": self.one([None, small(), text()]), "tags": self.some(text), "otags": self.maybe(self.some, lambda: self.maybe(text)),
            "nums": self.some(lambda: self.maybe(small)),
            "hops": self.some(lambda: {"host": text(), "port": self.maybe(small), "seen": self.some(lambda: self.some_of(LONGS), 2)}),
            "labels": {self.one(["a", "b", "it's"]): text() for _ in range(self.r.randrange(3))},
            "olabels": self.maybe(lambda: {self.one(["a", "b"]): self.maybe(small) for _ in range(self.r.randrange(3))}),
            "between": self.maybe(small), "null": small(),
        }


def sql_text(s):
    return "'" + s.replace("'", "''") + "'"


class Conditions(Make):
    """Makes pairs of a condition and its SQL."""

    def word(self, w):
        return self.one([w.upper(), w.lower(), w.title()])

    def text(self, s):
        if self.chance(0.3):
            escaped = s.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return f'"{escaped}"'
        return sql_text(s)

    def operator(self, order=True):
        ours, sql = self.one(
            [("=", "="), ("==", "="), ("!=", "<>"), ("<>", "<>")] + order * [("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")])
        return ours, sql

    def condition(self, depth):
        if depth == 0 or self.chance(0.25):
            return self.leaf()
        kind = self.r.randrange(4)
        if kind == 3:
            a, b = self.condition(depth - 1)
            return f"{self.one([self.word('not') + ' ', '!'])}({a})", f"(NOT ({b}))"
        (a, x), (b, y) = self.condition(depth - 1), self.condition(depth - 1)
        if kind == 0:
            return f"({a}) {self.one([self.word('and'), '&&'])} ({b})", f"(({x}) AND ({y}))"
        if kind == 1:
            return f"({a}) {self.one([self.word('or'), '||'])} ({b})", f"(({x}) OR ({y}))"
        # Without parentheses, by precedence.
        return f"not ({a}) or ({b})", f"((NOT ({x})) OR ({y}))"

    def leaf(self):
        make = self.one([
            self.numbers, self.numbers, self.floats, self.floats, self.decimals, self.decimals, self.texts, self.texts, self.patterns,
            self.patterns, self.times, self.times, self.clocks, self.others, self.nulls, self.pairs, self.pairs, self.computed,
            self.items, self.items, self.items, self.maps, self.maps])
        return make()

    def compared(self, ours, sql, literals, order=True, nan=False):
        """A field, or a similar expression, compared with constants. Each is a pair too."""
        number = f"(NOT isnan({sql}))" if nan else "true"
        kind = self.r.randrange(5)
        if kind == 0 and order:
            (a, x), (b, y) = self.one(literals), self.one(literals)
            no = self.one(["", self.word("not") + " "])
            return f"{ours} {no}{self.word('between')} {a} {self.word('and')} {b}", (
                f"({'NOT' if no else ''} ({sql} BETWEEN {x} AND {y} AND {number}))")
        if kind == 1:
            some = [self.one(literals) for _ in range(self.r.randrange(1, 4))]
            if self.chance(0.2):
                some.append(("NULL", "NULL"))
            no = self.one(["", self.word("not") + " "])
            a, b = ", ".join(a for a, _ in some), ", ".join(b for _, b in some)
            brackets = self.one(["({})", "[{}]"]).format(a)
            return f"{ours} {no}{self.word('in')} {brackets}", f"({'NOT' if no else ''} ({sql} IN ({b})))"
        (o, p), (a, x) = self.operator(order), self.one(literals)
        more = f" AND {number}" if p in (">", ">=") else ""
        if kind == 2:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(o, o)
            return f"{a} {mirrored} {ours}", f"({sql} {p} {x}{more})"
        return f"{ours} {o} {a}", f"({sql} {p} {x}{more})"

    def integer(self):
        return self.one(["i", "oi", "l", "ol", "rec.x", "pair.int", "`between`", "`null`"])

    def sql(self, name):
        return name.replace("`", '"')

    def numbers(self):
        n = self.integer()
        values = [(str(v), f"({v})::HUGEINT") for v in LONGS] + [(x, x) for x in ("0.5", "-0.5", "7.0", "1e2", "-6.999", "2147483646.5")]
        if self.chance(0.15):
            low = self.one(INTS)
            high = low + self.r.randrange(10)
            return f"{n} in {low}..{high}", f"({self.sql(n)} BETWEEN {low} AND {high})"
        return self.compared(n, self.sql(n), [(a, x if "::" in x else f"{x}::DECIMAL(30,4)") for a, x in values])

    def floats(self):
        n = self.one(["f", "d", "od"])
        kind = "FLOAT" if n == "f" else "DOUBLE"
        values = [(x, f"{x}::{kind}") for x in ("0", "1", "-7", "100", "0.1", "0.5", "-0.5", "1e2", "100.25", "1e30", "-1.5")]
        if n != "f":
            values += [(x, f"{x}::{kind}") for x in ("1e300", "5e-324", "9007199254740992")]
        return self.compared(n, n, values, nan=True)

    def decimals(self):
        n = self.one(["dec", "money"])
        values = [(x, f"{x}::DECIMAL(30,6)") for x in (
            "0", "12.34", "-12.34", "12.345", "0.0001", "-0.00005", "100", "999.99", "1e2", "9999999999999999.9999", "-1000.0", "0.005", "7")]
        return self.compared(n, n, values)

    def texts(self):
        n = self.one(["s", "os", "rec.os", "pair.string", "color", "ocolor"])
        if "color" in n:
            return self.compared(n, f"{n}::VARCHAR", [(self.text(s), sql_text(s)) for s in ("RED", "GREEN", "BLUE")])
        return self.compared(n, n, [(self.text(s), sql_text(s)) for s in TEXTS])

    def patterns(self):
        n = self.one(["s", "os", "rec.os", "color"])
        sql = f"{n}::VARCHAR" if n == "color" else n
        part = self.one(TEXTS)
        part = part[self.r.randrange(len(part) + 1):]
        kind = self.r.randrange(6)
        no = self.one(["", self.word("not") + " "])
        if kind == 0:
            ours, function = self.one([("contains", "contains"), ("startsWith", "starts_with"), ("endsWith", "suffix")])
            return f"{n} {no.lower()}{ours} {self.text(part)}", f"({'NOT' if no else ''} {function}({sql}, {sql_text(part)}))"
        if kind == 1:
            pattern = self.one(["^a", "a$", "[A-Z]", "^.$", "b|c", "(?i)^ALPHA$", "é|ë"])
            return f"{n} {no}matches {self.text(pattern)}", f"({'NOT' if no else ''} regexp_matches({sql}, {sql_text(pattern)}))"
        pattern = "".join(self.one(["%", "_", "a", "b", "c", "ë", "日", "A", "lpha", "", part]) for _ in range(self.r.randrange(4)))
        if kind == 2:
            pattern = "".join(self.one(["!%", "!_", "!!", "%", "_", "a", "50"]) for _ in range(self.r.randrange(4)))
            word = "like"
            return f"{n} {no}{self.word(word)} {self.text(pattern)} escape '!'", (
                f"({'NOT' if no else ''} ({sql} LIKE {sql_text(pattern)} ESCAPE '!'))")
        word = self.one(["like", "like", "ilike"])
        return f"{n} {no}{self.word(word)} {self.text(pattern)}", f"({'NOT' if no else ''} ({sql} {word.upper()} {sql_text(pattern)}))"

    def moment(self, local):
        t = self.one(TIMES + [dt.datetime.combine(d, dt.time(0)) for d in DAYS])
        if t.time() == dt.time(0) and self.chance(0.5):
            ours = self.one([f"'{t.date()}'", f"DATE '{t.date()}'", f'"{t.date()}"', f'date("{t.date()}")'])
        else:
            text = t.isoformat(sep=self.one(["T", " "]))
            if not local and self.chance(0.5):
                if self.chance(0.5):
                    text = (t + dt.timedelta(hours=2)).isoformat() + "+02:00"
                else:
                    text += "Z"
            ours = self.one([f"'{text}'", f"TIMESTAMP '{text}'"])
        return ours, f"TIMESTAMP '{t}'"

    def times(self):
        n = self.one(["day", "oday", "millis", "micros", "local"])
        sql = f"timezone('UTC', {n})" if n in ("millis", "micros") else f"{n}::TIMESTAMP"
        return self.compared(n, sql, [self.moment(n == "local") for _ in range(5)])

    def clocks(self):
        values = [("'12:30:00'", "TIME '12:30:00'"), ("'12:30'", "TIME '12:30:00'"), ("'00:00:00.001'", "TIME '00:00:00.001'"),
                  ("'23:59:59.9995'", "TIME '23:59:59.9995'"), ("45000000", "TIME '12:30:00'")]
        return self.compared("clock", "clock", values)

    def others(self):
        kind = self.r.randrange(3)
        if kind == 0:
            n = self.one(["raw", "four"])
            return self.compared(n, n, [(self.one(["x", "X"]) + f"'{v.hex()}'", f"from_hex('{v.hex()}')") for v in RAWS + [b"\0\1\xff\0"]])
        if kind == 1:
            values = [(self.one([f"'{u}'", f'"{u}"', f"'{str(u).upper()}'"]), f"'{u}'") for u in UUIDS]
            return self.compared("uid", "lower(uid::VARCHAR)", values)
        n = self.one(["b", "ob"])
        return self.one([
            (n, n), (f"not {n}", f"(NOT {n})"), (f"!{n}", f"(NOT {n})"), (f"{n} = {self.word('true')}", f"({n} = true)"),
            (f"{n} <> {self.word('true')}", f"({n} <> true)"), (f"{n} == false", f"({n} = false)"), (f"{n} in (true, false)", f"({n} IN (true, false))")])

    def nulls(self):
        n = self.one(["oi", "ol", "od", "os", "ob", "four", "ocolor", "oday", "micros", "money", "rec.x", "rec.os", "pair.int", "pair.string",
                      "otags", "olabels", "i", "`between`", "rec"])
        form, sql = self.one([
            ("{} is null", "{} IS NULL"), ("{} IS NOT NULL", "{} IS NOT NULL"), ("{} = NULL", "{} IS NULL"), ("{} != null", "{} IS NOT NULL"),
            ("null == {}", "{} IS NULL")])
        return form.format(n), f"({sql.format(self.sql(n))})"

    def pairs(self):
        (o, p), kind = self.operator(), self.r.randrange(6)
        if kind == 0:
            a, b = self.integer(), self.integer()
            return f"{a} {o} {b}", f"({self.sql(a)} {p} {self.sql(b)})"
        if kind == 1:
            a, b = self.one(["i", "oi", "d", "f", "od"]), self.one(["d", "od"])
            nan = " OR ".join(f"isnan({x}::DOUBLE)" for x in (a, b))
            with_nan = f"({a}::DOUBLE {p} {b} OR {nan})" if p == "<>" else f"({a}::DOUBLE {p} {b} AND NOT ({nan}))"
            return f"{a} {o} {b}", f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL ELSE {with_nan} END)"
        if kind == 2:
            a, b = self.one(["s", "os", "rec.os"]), self.one(["s", "os", "color"])
            return f"{a} {o} {b}", f"({a} {p} {b}::VARCHAR)"
        if kind == 3:
            a, b = self.one(["dec", "money"]), self.one(["dec", "money", "i", "oi", "pair.int"])
            return self.one([(f"{a} {o} {b}", f"({a}::DECIMAL(30,4) {p} {b}::DECIMAL(30,4))"), (f"{b} {o} {a}", f"({b}::DECIMAL(30,4) {p} {a}::DECIMAL(30,4))")])
        if kind == 4:
            a, b = self.one(["day", "oday", "millis", "micros"]), self.one(["day", "oday", "millis", "micros"])
            as_time = lambda n: f"timezone('UTC', {n})" if n[0] == "m" else f"{n}::TIMESTAMP"
            return f"{a} {o} {b}", f"({as_time(a)} {p} {as_time(b)})"
        (o, p) = self.operator(order=False)
        return f"b {o} ob", f"(b {p} ob)"

    def computed(self):
        n, (o, p) = self.one(["i", "oi", "rec.x", "pair.int"]), self.operator()
        c, k = self.one([1, 2, 3, 7, 100]), self.one(INTS)
        small = n != "rec.x"
        wide = f"{n}::HUGEINT"
        choices = [(f"{n} % {c} {o} {k}", f"({wide} % {c} {p} {k})"), (f"-({n} % {c}) {o} {k}", f"(-({wide} % {c}) {p} {k})")]
        if small:
            choices += [
                (f"{n} + {c} {o} {k}", f"({wide} + {c} {p} {k})"), (f"{n} * {c} - {k} {o} i", f"({wide} * {c} - {k} {p} i)"),
                (f"{k} {o} {n} - 1", f"({k} {p} {wide} - 1)"), (f"ABS({n}) {o} {k}", f"(abs({wide}) {p} {k})"),
                (f"{n} + i in ({k}, {c})", f"({wide} + i IN ({k}, {c}))"), (f"{n} / 2 {o} {k}", f"({wide}::DOUBLE / 2 {p} {k})"),
                (f"{n} + oi is null", f"({wide} + oi IS NULL)")]
        t = self.one(["s", "os", "rec.os"])
        word = self.one([x for x in TEXTS if "\n" not in x])
        choices += [
            (f"lower({t}) {o} {self.text(word.lower())}", f"(lower({t}) {p} {sql_text(word.lower())})"),
            (f"LEN({t}) {o} {c}", f"(length({t}) {p} {c})"), (f"upper({t}) contains 'A'", f"contains(upper({t}), 'A')"),
            (f"{t} + 'x' {o} {self.text(word)}", f"({t} || 'x' {p} {sql_text(word)})")]
        return self.one(choices)

    def items(self):
        """Conditions on arrays. The item of a DuckDB lambda is named after its position."""
        any_of = lambda array, name, sql: f"(len(list_filter({array}, lambda {name}: {sql})) > 0)"
        kind = self.r.randrange(7)
        if kind == 0:
            a, s = self.one(["tags", "otags"]), self.one(TEXTS)
            no = self.one(["", self.word("not") + " "])
            return f"{self.text(s)} {no}in {a}", f"({'NOT' if no else ''} list_contains({a}, {sql_text(s)}))"
        if kind == 1:
            a = self.one(["tags", "otags"])
            ours, sql = self.compared("#", "t", [(self.text(s), sql_text(s)) for s in TEXTS])
            return f"any({a}, {ours})", any_of(a, "t", sql)
        if kind == 2:
            a = self.one(["nums", "rec.ints"])
            ours, sql = self.compared("#", "n", [(str(v), str(v)) for v in INTS])
            return f"{self.one(['any', 'ANY'])}({a}, {ours})", any_of(a, "n", sql)
        if kind == 3:
            ours, sql = self.compared("port", "h.port", [(str(v), str(v)) for v in INTS])
            other, more = self.compared("host", "h.host", [(self.text(s), sql_text(s)) for s in TEXTS])
            word = self.one(["and", "or"])
            return f"any(hops, {ours} {word} not ({other}))", any_of("hops", "h", f"({sql}) {word} (NOT ({more}))")
        if kind == 4:
            v = self.one(LONGS)
            o, p = self.operator()
            no = self.one(["", "not "])
            return f"any(hops, {no}any(seen, # {o} {v}))", any_of("hops", "h", f"{no}{any_of('h.seen', 'x', f'x {p} ({v})::HUGEINT')}")
        if kind == 5:
            v = self.one(LONGS)
            return f"any(hops, {v} in seen and port is not null)", any_of("hops", "h", f"list_contains(h.seen, ({v})::HUGEINT) AND h.port IS NOT NULL")
        c = self.one([1, 2, 3])
        return f"any(nums, # % {c + 1} = 1 or # is null)", any_of("nums", "n", f"n % {c + 1} = 1 OR n IS NULL")

    def maps(self):
        key = self.one(["a", "b", "it's", "c"])
        if self.chance(0.4):
            ours, sql = f"labels[{self.text(key)}]", f"labels[{sql_text(key)}]"
            return self.one([
                self.compared(ours, sql, [(self.text(s), sql_text(s)) for s in TEXTS]), (f"{ours} is null", f"({sql} IS NULL)"),
                (f"{ours} like 'a%'", f"({sql} LIKE 'a%')"), (f"lower({ours}) = 'a'", f"(lower({sql}) = 'a')")])
        ours, sql = f"olabels[{self.text(key)}]", f"olabels[{sql_text(key)}]"
        any_of = f"(len(list_filter(map_entries(olabels), lambda e: e.key = {sql_text(key)} AND e.value > 0)) > 0)"
        return self.one([
            self.compared(ours, sql, [(str(v), str(v)) for v in INTS]), (f"{ours} is not null", f"({sql} IS NOT NULL)"),
            (f"any(olabels, key = {self.text(key)} and value > 0)", any_of)])


ROWS = 1500


def make(avro, conditions, seed, count):
    rows = Make(int(seed))
    with open(avro, "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(SCHEMA), map(rows.row, range(ROWS)), codec="deflate")
    c = Conditions(int(seed) + 1)
    with open(conditions, "w") as f:
        json.dump([c.condition(c.r.randrange(4)) for _ in range(int(count))], f)
    return 0


def judge(parquet, conditions, answers):
    con = duckdb.connect(config={"threads": 2})
    con.execute("set timezone = 'UTC'")
    source = f"read_parquet('{parquet}')"
    (pair,) = con.execute(f"select typeof(pair) from {source} limit 1").fetchone()
    named = "case when pair is not null then {'int': pair.member0, 'string': pair.member1} end" if "member0" in pair else "pair"
    # A view, so that DuckDB can use the statistics of the files for each condition.
    con.execute(f"create view t as select * replace ({named} as pair, clock::time as clock) from {source}")
    with open(conditions) as f, open(answers) as g:
        asked, answered = json.load(f), json.load(g)
    wrong = selected = 0
    for (ours, sql), got in zip(asked, answered, strict=True):
        want = [i for (i,) in con.execute(f"select id from t where {sql} order by id").fetchall()]
        selected += 0 < len(want) < ROWS
        if got != want:
            wrong += 1
            if wrong <= 20:
                different = sorted(set(got) ^ set(want))[:3]
                print(f"{ours}\n  {sql}\n  {len(got)} rows, and should be {len(want)}; row {different} is "
                      f"{con.execute(f'select * from t where id = {different[0]}').fetchall() if different else 'the same'}")
    print(f"{len(asked)} conditions on {ROWS} rows, of which {selected} select some: {wrong} differences")
    return wrong > 0 or selected < len(asked) / 2


if __name__ == "__main__":
    sys.exit({"make": make, "judge": judge}[sys.argv[1]](*sys.argv[2:]))
