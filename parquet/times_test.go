package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/trevni"
)

// timeTypes are the logical types of times, with the types that they annotate.
var timeTypes = [][2]string{
	{"time-millis", "int"}, {"time-micros", "long"}, {"date", "int"},
	{"timestamp-millis", "long"}, {"timestamp-micros", "long"}, {"timestamp-nanos", "long"},
	{"local-timestamp-millis", "long"}, {"local-timestamp-micros", "long"}, {"local-timestamp-nanos", "long"},
}

// timesSchema returns a schema with a field for each type of times. form has %s for the type.
func timesSchema(form string) string {
	var fields []string
	for i, t := range timeTypes {
		typ := fmt.Sprintf(`{"type":%q,"logicalType":%q}`, t[1], t[0])
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":`+form+`}`, i, typ))
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

// Times are stored with the types that a reader knows, and Java's reader gets a schema of them.
func TestTypesOfTimes(t *testing.T) {
	const utc, local, clock = "TIMESTAMP(isAdjustedToUTC=true,unit=%S)", "TIMESTAMP(isAdjustedToUTC=false,unit=%S)", "TIME(isAdjustedToUTC=false,unit=%S)"
	in := func(form, unit string) string { return strings.ReplaceAll(form, "%S", unit) }
	for _, c := range []struct {
		times  times
		types  string
		stored string // the logical types for Java
	}{
		{
			timesExact,
			"INT32 " + in(clock, "MILLIS") + " INT64 " + in(clock, "MICROS") + " INT32 DATE" +
				" INT64 " + in(utc, "MILLIS") + " INT64 " + in(utc, "MICROS") + " INT64 " + in(utc, "NANOS") +
				" INT64 " + in(local, "MILLIS") + " INT64 " + in(local, "MICROS") + " INT64 " + in(local, "NANOS"),
			"time-millis time-micros date timestamp-millis timestamp-micros timestamp-nanos local-timestamp-millis local-timestamp-micros local-timestamp-nanos",
		},
		{
			timesSpark,
			"INT32 INT64 INT32 DATE" + strings.Repeat(" INT64 "+in(utc, "MICROS"), 3) + strings.Repeat(" INT64 "+in(local, "MICROS"), 3),
			"  date timestamp-micros timestamp-micros timestamp-micros local-timestamp-micros local-timestamp-micros local-timestamp-micros",
		},
		{
			timesIceberg,
			"INT64 " + in(clock, "MICROS") + " INT64 " + in(clock, "MICROS") + " INT32 DATE" +
				strings.Repeat(" INT64 "+in(utc, "MICROS"), 2) + " INT64 " + in(utc, "NANOS") +
				strings.Repeat(" INT64 "+in(local, "MICROS"), 2) + " INT64 " + in(local, "NANOS"),
			"time-micros time-micros date timestamp-micros timestamp-micros timestamp-nanos local-timestamp-micros local-timestamp-micros local-timestamp-nanos",
		},
	} {
		schema := timesSchema("%s")
		m := openByOther(t, fileOf(t, schema, options{Times: c.times.String()}, 1<<10, nil)).Metadata()
		var types []string
		for _, e := range m.Schema[1:] {
			if types = append(types, e.Type.V.String()); e.LogicalType.Value != nil {
				types = append(types, fmt.Sprint(e.LogicalType.Value))
			}
		}
		if got := strings.Join(types, " "); got != c.types {
			t.Errorf("%v: the types are\n%s, want\n%s", c.times, got, c.types)
		}
		pairs := map[string]string{}
		for _, kv := range m.KeyValueMetadata {
			pairs[kv.Key] = kv.Value
		}
		stored, err := shred.ParseSchema(pairs[schemaKey])
		testenv.Must(t, err)
		var logical []string
		for _, f := range stored.Root().Fields {
			logical = append(logical, f.Type.LogicalType().String())
		}
		if got := strings.Join(logical, " "); got != c.stored {
			t.Errorf("%v: the stored schema has %q, want %q", c.times, got, c.stored)
		}
		original, retimed := pairs[rowsSchemaKey]
		if retimed != (c.times != timesExact) || retimed && (original != schema || pairs[timesKey] != c.times.String()) {
			t.Errorf("%v: the metadata are %q", c.times, pairs)
		}
	}
}

// Options that change nothing leave no trace in the file, and a schema that Java could not read is
// left out.
func TestSchemaOfTimes(t *testing.T) {
	for _, c := range []struct{ typ, keys string }{
		{`"long"`, schemaKey},
		{`{"type":"long","logicalType":"timestamp-micros"}`, schemaKey},
		{`{"type":"long","logicalType":"timestamp-millis"}`, schemaKey + " " + rowsSchemaKey + " " + timesKey},
		{`[{"type":"int","logicalType":"time-millis"},"long"]`, rowsSchemaKey + " " + timesKey},
		{`["null","R"]`, rowsSchemaKey},
	} {
		schema := `{"type":"record","name":"R","fields":[{"name":"i","type":"int"},{"name":"f","type":` + c.typ + `}]}`
		var keys []string
		for _, kv := range openByOther(t, fileOf(t, schema, options{Times: "iceberg"}, 1<<10, nil)).Metadata().KeyValueMetadata {
			if kv.Key != checksumsKey {
				keys = append(keys, kv.Key)
			}
		}
		if got := strings.Join(keys, " "); got != c.keys {
			t.Errorf("%s: the metadata are %s, want %s", c.typ, got, c.keys)
		}
	}
}

// timesRow returns a row of timesSchema. Each value has the kind of place that form has.
func timesRow(r *rand.Rand, place func(dst []byte, v int64) []byte, few bool) (row []byte) {
	for _, t := range timeTypes {
		most := int64(math.MaxInt64 / perUnit)
		if t[1] == "int" {
			most = math.MaxInt32
		}
		v := r.Int64N(most) - most/2
		switch {
		case few:
			v = int64(r.IntN(5)) - 2
		case r.IntN(10) == 0:
			v = []int64{most, -most, 0}[r.IntN(3)]
		}
		if strings.HasSuffix(t[0], "nanos") {
			v = v / perUnit * perUnit
		}
		row = place(row, v)
	}
	return row
}

// Rows come back with the times that they had, and bounds are bounds of these.
func TestTimesComeBack(t *testing.T) {
	forms := []struct {
		form  string
		place func(dst []byte, v int64) []byte
	}{
		{"%s", binary.AppendVarint},
		{`["null",%s]`, func(dst []byte, v int64) []byte {
			if v%3 == 0 {
				return append(dst, 0)
			}
			return binary.AppendVarint(append(dst, 2), v)
		}},
		{`{"type":"array","items":%s}`, func(dst []byte, v int64) []byte {
			for n := v & 3; n > 0; n-- {
				dst = binary.AppendVarint(append(dst, 2), v)
			}
			return append(dst, 0)
		}},
	}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 31))
		f, few := forms[seed%3], seed/6 == 0
		schema := timesSchema(f.form)
		var rows [][]byte
		for range 500 {
			rows = append(rows, timesRow(r, f.place, few))
		}
		want := formattest.MustOpen(t, trevni.Format, formattest.Rows(t, trevni.Format, nil, schema, rows, 1000).Files(t), smallPages)
		chosen := map[string][]string{optionTimes: {timesNames[1+seed/3%2]}}
		b := formattest.Rows(t, Format, chosen, schema, rows, 400).Files(t)[""]
		checkAgainst(t, seed, r, b, want, schema)
		p := mustOpen(t, b)
		for col, c := range p.Columns() {
			if !c.Array {
				checkBlockBounds(t, p, col)
			}
		}
	}
}

// checkBlockBounds checks that the bounds of each block are those of its values.
func checkBlockBounds(t *testing.T, p *part, col int) {
	t.Helper()
	blocks, err := boundedBlocks(p, col)
	testenv.Must(t, err)
	name, typ := p.Columns()[col].Name, p.Columns()[col].Type
	for _, b := range blocks {
		c, err := p.Cursor(col)
		testenv.Must(t, err, c.SeekRow(b.FirstRow))
		var v column.Vector
		for left := int(b.Rows); left > 0; {
			n, _, err := c.Read(&v, left)
			testenv.Must(t, err)
			left -= n
		}
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for i := range v.Values {
			x := int64(0)
			if typ == column.Int {
				x = int64(v.Ints[i])
			} else {
				x = v.Longs[i]
			}
			low, high = min(low, x), max(high, x)
		}
		if b.Min == nil || b.Max == nil {
			t.Errorf("%s: no bounds of %d values", name, v.Values)
			continue
		}
		least, _ := binary.Varint(b.Min)
		most, _ := binary.Varint(b.Max)
		if least != low || most != high {
			t.Errorf("%s: the bounds are %d and %d, want %d and %d", name, least, most, low, high)
		}
	}
}

// A time that cannot be stored is refused with its row.
func TestRefusedTimes(t *testing.T) {
	const more, whole = "are more microseconds than 64 bits hold; --times exact stores them", "are not a whole number of microseconds; --times exact stores them"
	for _, c := range []struct {
		logical, times string
		value          int64
		err            string
	}{
		{"timestamp-nanos", "spark", 1001, "1001 nanoseconds " + whole},
		{"local-timestamp-nanos", "spark", -1, "-1 nanoseconds " + whole},
		{"timestamp-nanos", "iceberg", 1001, ""},
		{"timestamp-millis", "spark", math.MaxInt64/1000 + 1, "9223372036854776 milliseconds " + more},
		{"timestamp-millis", "iceberg", math.MinInt64/1000 - 1, "-9223372036854776 milliseconds " + more},
		{"local-timestamp-millis", "iceberg", math.MaxInt64, "9223372036854775807 milliseconds " + more},
		{"timestamp-millis", "exact", math.MaxInt64, ""},
	} {
		typ := `{"type":"long","logicalType":"` + c.logical + `"}`
		for _, f := range []struct {
			form        string
			none        []byte // a row without a value
			first, last string // what is around the value
		}{
			{`%s`, []byte{0}, "", ""},
			{`["null",%s]`, []byte{0}, "\x02", ""},
			{`{"type":"array","items":%s}`, []byte{0}, "\x04\x00", "\x00"},
		} {
			for _, dictionary := range []bool{true, false} {
				schema := `{"type":"record","name":"R","fields":[{"name":"f","type":` + fmt.Sprintf(f.form, typ) + `}]}`
				g := newGroupMaker(t, schema, options{Times: c.times}, 1<<20)
				if !dictionary {
					g.group.columns[0].turns.pass(0, true)
				}
				for range 7 {
					g.row(f.none)
				}
				for range maxPageRows { // a page of its own
					g.row(append(binary.AppendVarint([]byte(f.first), 0), f.last...))
				}
				g.row(append(binary.AppendVarint([]byte(f.first), c.value), f.last...))
				g.row(f.none)
				g.bufs.Cols[0].Finish(g.rows, &g.block)
				job, err := g.group.Begin(0, &g.block)
				testenv.Must(t, err)
				_, err = job.Encode(nil)
				var d *damage.Error
				if (err == nil) != (c.err == "") || err != nil && (!errors.As(err, &d) || d.Reason != c.err || d.Row != maxPageRows+7 || d.Column == "") {
					t.Errorf("%s as %s in %s: %v", c.logical, c.times, f.form, err)
				}
			}
		}
	}
}

// Stored times that are no times of rows are damage, as are units that are not known.
func TestDamagedTimes(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"f","type":{"type":"%s","logicalType":"%s"}}]}`
	for _, c := range []struct {
		typ, logical, times string
		value               int64
		reason              string
	}{
		{"long", "timestamp-millis", "iceberg", 5000, ""},
		{"long", "timestamp-millis", "iceberg", 5001, "the time 5001 is not one of timestamp-millis"},
		{"int", "time-millis", "iceberg", math.MaxInt32 * 1000, ""},
		{"int", "time-millis", "iceberg", (math.MaxInt32 + 1) * 1000, "is not one of time-millis"},
		{"long", "timestamp-nanos", "spark", math.MaxInt64 / 1000, ""},
		{"long", "timestamp-nanos", "spark", math.MaxInt64/1000 + 1, "is not one of timestamp-nanos"},
		{"long", "timestamp-nanos", "spark", math.MinInt64/1000 - 1, "is not one of timestamp-nanos"},
	} {
		chosen := map[string][]string{optionTimes: {c.times}, optionCompression: {"none"}}
		file := formattest.Rows(t, Format, chosen, fmt.Sprintf(schema, c.typ, c.logical), [][]byte{{0}}, 1000).Files(t)[""]
		w := newRewriter(t, file, rand.New(rand.NewPCG(0, 0)))
		w.header = func(_, _ int, h *pq.PageHeader, _ []byte) []byte {
			body := binary.LittleEndian.AppendUint64(nil, uint64(c.value))
			*h = pq.PageHeader{Type: pq.DataPage, UncompressedPageSize: 8, CompressedPageSize: 8}
			h.DataPageHeader.Set(pq.DataPageHeader{NumValues: 1, DefinitionLevelEncoding: pq.RLE, RepetitionLevelEncoding: pq.RLE})
			return body
		}
		w.footer = func(m *pq.FileMetaData) {
			to := &m.RowGroups[0].Columns[0].MetaData
			to.Codec, to.Statistics = pq.Uncompressed, pq.Statistics{}
		}
		p := mustOpen(t, w.file())
		kind := damage.Value
		if c.reason == "" {
			kind = ""
		}
		wantDamage(t, c.logical, readColumn(p, 0, 0), kind, c.reason)
		wantDamage(t, c.logical, p.Verify(t.Context(), nil), kind, c.reason)
	}
	file := formattest.Rows(t, Format, map[string][]string{optionTimes: {"spark"}}, timesSchema("%s"), nil, 1000).Files(t)[""]
	w := newRewriter(t, file, rand.New(rand.NewPCG(0, 0)))
	w.footer = func(m *pq.FileMetaData) {
		for i := range m.KeyValueMetadata {
			if m.KeyValueMetadata[i].Key == timesKey {
				m.KeyValueMetadata[i].Value = "hive"
			}
		}
	}
	wantDamage(t, "unknown times", openError(w.file()), damage.Unsupported, "in another way than exact, spark, iceberg")
}

// A file is refused if its annotations give numbers another unit than the Avro type: other
// programs read other times and decimals from it.
func TestOtherUnits(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}},` +
		`{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}`
	const tLeaf, dLeaf = 0, 1
	utc := func(u pq.TimeUnit) *pq.TimestampType { return &pq.TimestampType{IsAdjustedToUTC: true, Unit: u} }
	for _, times := range []string{"exact", "spark"} {
		file := formattest.Rows(t, Format, map[string][]string{optionTimes: {times}}, schema, [][]byte{{2, 2, 1}}, 1000).Files(t)[""]
		for _, c := range []struct {
			name   string
			leaf   int
			stored string // the times to which the element fits; "" for all
			change func(e *pq.SchemaElement)
		}{
			{"milliseconds", tLeaf, "exact", func(e *pq.SchemaElement) { e.LogicalType.Value = utc(pq.TimeUnit{Value: &pq.MilliSeconds{}}) }},
			{"microseconds", tLeaf, "spark", func(e *pq.SchemaElement) { e.LogicalType.Value = utc(pq.TimeUnit{Value: &pq.MicroSeconds{}}) }},
			{"nanoseconds", tLeaf, "never", func(e *pq.SchemaElement) { e.LogicalType.Value = utc(pq.TimeUnit{Value: &pq.NanoSeconds{}}) }},
			{"converted milliseconds", tLeaf, "exact", func(e *pq.SchemaElement) {
				e.LogicalType.Value = nil
				e.ConvertedType.Set(deprecated.TimestampMillis)
			}},
			{"converted microseconds", tLeaf, "spark", func(e *pq.SchemaElement) {
				e.LogicalType.Value = nil
				e.ConvertedType.Set(deprecated.TimestampMicros)
			}},
			{"no unit", tLeaf, "", func(e *pq.SchemaElement) {
				e.LogicalType.Value = nil
				e.ConvertedType.Reset()
			}},
			{"another precision", dLeaf, "", func(e *pq.SchemaElement) { e.LogicalType.Value = &pq.DecimalType{Precision: 18, Scale: 2} }},
			{"another scale", dLeaf, "never", func(e *pq.SchemaElement) { e.LogicalType.Value = &pq.DecimalType{Precision: 9, Scale: 3} }},
			{"another converted scale", dLeaf, "never", func(e *pq.SchemaElement) {
				e.LogicalType.Value = nil
				e.Scale.Set(0)
			}},
		} {
			kind := damage.Schema
			if c.stored == "" || c.stored == times {
				kind = ""
			}
			_, err := openFile(reindexed(t, file, func(x *indexes) { c.change(&x.Schema[1+c.leaf]) }), smallPages)
			wantDamage(t, times+", "+c.name, err, kind, "counts units of")
		}
	}
}

// Bounds of stored times never leave out a time of a row.
func TestBoundsOfTimes(t *testing.T) {
	for _, c := range []struct {
		unit        unit
		stored      int64
		least, most int64
		none        bool
	}{
		{unitEqual, 7, 7, 7, false},
		{unitFiner, 2000, 2, 2, false},
		{unitFiner, 2001, 3, 2, false},
		{unitFiner, -2001, -2, -3, false},
		{unitFiner, math.MaxInt64, math.MaxInt64/1000 + 1, math.MaxInt64 / 1000, false},
		{unitFiner, math.MinInt64, math.MinInt64 / 1000, math.MinInt64/1000 - 1, false},
		{unitCoarser, -3, -3000, -3000, false},
		{unitCoarser, math.MaxInt64 / 999, 0, 0, true},
	} {
		least, ok := c.unit.bound(c.stored, true)
		most, _ := c.unit.bound(c.stored, false)
		if ok == c.none || ok && (least != c.least || most != c.most) {
			t.Errorf("%v: the bounds %d and %d, want %d and %d", c, least, most, c.least, c.most)
		}
	}
	l := &leaf{Column: &column.Column{Type: column.Int}, physical: pq.Int64, unit: unitFiner}
	wide := binary.LittleEndian.AppendUint64(nil, (math.MaxInt32+1)*perUnit)
	if b := boundOf(l, wide, false); b != nil {
		t.Errorf("a bound of %x for an int", b)
	}
}
