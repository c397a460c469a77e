package export

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// messages returns rows of mailgen.Schema.
func messages(n int) [][]byte {
	rows := make([][]byte, n)
	for i, g := 0, mailgen.New(1); i < n; i++ {
		rows[i] = g.Append(nil)
	}
	return rows
}

// ranges encodes ranges of rows, each on a goroutine and with an encoder of its own, and
// returns the output.
func ranges(t *testing.T, e Encoding, rows [][]byte, size int) []byte {
	t.Helper()
	chunks := slices.Collect(slices.Chunk(rows, size))
	outs := make([]bytes.Buffer, len(chunks))
	var group sync.WaitGroup
	for i, chunk := range chunks {
		group.Go(func() {
			encoder, err := e.NewEncoder(&outs[i])
			var buffer []byte
			for _, row := range chunk {
				if err == nil {
					buffer, err = encoder.Append(buffer, row)
				}
			}
			if err == nil {
				buffer, err = encoder.End(buffer)
			}
			if err != nil {
				t.Error(err)
			}
			outs[i].Write(buffer)
		})
	}
	group.Wait()
	out := bytes.Clone(e.Header())
	for i := range outs {
		out = append(out, outs[i].Bytes()...)
	}
	return out
}

// Goroutines share an encoding, and each encodes some rows.
func TestEncodersOfRanges(t *testing.T) {
	long := strings.Repeat("long, \"and\" \n", longText/4)
	text := parse(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"}]}`)
	texts := [][]byte{sized("a"), sized(long), sized("b"), sized(""), sized(long + "x"), sized("c")}
	table, err := CSV(text)
	testenv.Must(t, err)
	for name, c := range map[string]struct {
		Encoding
		rows [][]byte
	}{
		"json": {JSON(parse(t, mailgen.Schema), JSONOptions{}), messages(100)},
		"long": {JSON(text, JSONOptions{}), texts},
		"csv":  {table, texts},
	} {
		var whole bytes.Buffer
		want := write(t, open(t, &whole, c), &whole, c.rows...)
		for _, size := range []int{1, 2, 7, len(c.rows)} {
			if got := ranges(t, c, c.rows, size); string(got) != want {
				t.Errorf("%s in ranges of %d rows: %d bytes differ from the %d of one writer", name, size, len(got), len(want))
			}
		}
	}
}

// The blocks of several encoders are one Avro file.
func TestAvroOfRanges(t *testing.T) {
	s := parse(t, mailgen.Schema)
	rows := messages(300)
	for _, codec := range []string{"null", "snappy", "deflate"} {
		e, err := Avro(s, codec)
		testenv.Must(t, err)
		out := ranges(t, e, rows, 70)
		if again := ranges(t, e, rows, 70); !bytes.Equal(out, again) {
			t.Errorf("%s: the same rows give other bytes", codec)
		}
		r, err := goavro.NewOCFReader(bytes.NewReader(out))
		testenv.Must(t, err)
		n := 0
		for ; r.Scan(); n++ {
			v, err := r.Read()
			testenv.Must(t, err)
			if got, err := r.Codec().BinaryFromNative(nil, v); err != nil || !sameBytes(got, rows[n]) {
				t.Fatalf("%s: row %d differs: %v", codec, n, err)
			}
		}
		if r.Err() != nil || n != len(rows) {
			t.Errorf("%s: %d rows, want %d: %v", codec, n, len(rows), r.Err())
		}
	}
}

// A row that fails leaves the rows before it in the buffer, and nothing else.
func TestFailedRowsLeaveNothing(t *testing.T) {
	s := parse(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"n","type":"long"}]}`)
	table, err := CSV(s)
	testenv.Must(t, err)
	for name, e := range map[string]Encoding{"json": JSON(s, JSONOptions{}), "csv": table} {
		for _, text := range []string{"a", strings.Repeat("a", 3*longText)} {
			var out bytes.Buffer
			encoder, err := e.NewEncoder(&out)
			testenv.Must(t, err)
			buffer, err := encoder.Append(nil, append(sized("good"), 2))
			testenv.Must(t, err)
			good := string(buffer)
			buffer, err = encoder.Append(buffer, sized(text)) // without n
			all := out.String() + string(buffer)
			if short := len(text) < longText; !errors.Is(err, errDatum) || short && all != good || !strings.HasPrefix(all, good) || strings.Count(all, "\n") != 1 {
				t.Errorf("%s, %d bytes of text: %d bytes after %q: %v", name, len(text), len(all), good, err)
			}
		}
	}
}

// The error of a writer of long text is that of the row, whose rest is not collected.
func TestWriterOfLongTextFails(t *testing.T) {
	s := parse(t, `"string"`)
	table, err := CSV(s)
	testenv.Must(t, err)
	r, w := io.Pipe()
	testenv.Must(t, r.Close())
	for name, e := range map[string]Encoding{"json": JSON(s, JSONOptions{}), "csv": table} {
		encoder, err := e.NewEncoder(w)
		testenv.Must(t, err)
		buffer, err := encoder.Append(nil, sized(strings.Repeat("a", 100*longText)))
		if !errors.Is(err, io.ErrClosedPipe) || len(buffer) > 0 || cap(buffer) > 4*longText {
			t.Errorf("%s: buffer of %d bytes, room for %d: %v", name, len(buffer), cap(buffer), err)
		}
	}
}

// Dates and times are those of package time.
func TestTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(l column.Logical, v int64, at time.Time, layout string) {
		if got, want := string(appendInteger(nil, l, v)), at.UTC().Format(layout); got != want {
			t.Errorf("%v of %d: %s, want %s", l, v, got, want)
		}
	}
	day := func(v int64) { check(column.LogicalDate, v, time.Unix(v*daySeconds, 0), time.DateOnly) }
	for v := int64(-719528); v < 2932897; v += 1 + r.Int64N(60) { // years 0 to 9999
		day(v)
	}
	for v := int64(-800); v < 800; v++ { // around the leap day of 2000
		day(11016 + v)
	}
	for range 10_000 {
		v := r.Int64N(1<<46) - 1<<45
		check(column.LogicalTimestampMillis, v, time.UnixMilli(v), "2006-01-02T15:04:05.000Z")
		v = int64(r.Uint64())
		check(column.LogicalTimestampNanos, v, time.Unix(0, v), "2006-01-02T15:04:05.000000000Z")
	}
}

func TestIntegers(t *testing.T) {
	numbers := []int64{0, math.MaxInt64, math.MinInt64}
	for v := int64(1); v < math.MaxInt64/10; v *= 10 {
		numbers = append(numbers, v-1, v, v+1, -v, 10*v-1)
	}
	for _, v := range numbers {
		if got := string(appendInt(nil, v)); got != strconv.FormatInt(v, 10) {
			t.Errorf("%d: %s", v, got)
		}
	}
}

// A field of CSV is looked at some bytes at a time.
func TestNeedsQuotes(t *testing.T) {
	for c := range 256 {
		for n := range 30 {
			for at := range n {
				text := bytes.Repeat([]byte{'a' + byte(n)}, n)
				text[at] = byte(c)
				if got, want := needsQuotes(text), strings.ContainsRune("\",\r\n", rune(c)); got != want {
					t.Fatalf("%q: %v", text, got)
				}
			}
		}
	}
}
