package shred_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// maxRow bounds the rows that tests resolve.
const maxRow = 1 << 30

// randomSchemas returns two random schemas and their resolution. v is nil if they do not resolve.
func randomSchemas(t testing.TB, seed uint64) (w, r *shred.Schema, v *shred.Resolution) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 5))
	text := randavro.Schema(rnd)
	var err error
	if w, err = shred.ParseSchema(text); err != nil {
		t.Fatal(err)
	}
	if r, err = shred.ParseSchema(randavro.Evolve(rnd, text)); err != nil {
		t.Fatal(err)
	}
	var located *damage.Error
	if v, err = shred.Resolve(w, r, shred.AllowChanges); err != nil && !(errors.As(err, &located) && located.Kind == damage.Schema) {
		t.Fatalf("%s -> %s: %v", w.JSON(), r.JSON(), err)
	}
	return w, r, v
}

// identity returns the resolver of a schema to itself, which accepts exactly its rows.
func identity(t testing.TB, s *shred.Schema) *shred.Resolver {
	t.Helper()
	v, err := shred.Resolve(s, s, shred.AllowChanges)
	if err != nil || !v.Identity() {
		t.Fatalf("%s to itself: %v", s.JSON(), err)
	}
	return shred.NewResolver(v, maxRow)
}

// checkResolve resolves a datum and checks that the result is a whole row of the
// reader's schema.
func checkResolve(t testing.TB, r *shred.Schema, v *shred.Resolution, datum []byte) (int, error) {
	t.Helper()
	out, n, err := shred.NewResolver(v, maxRow).Row(nil, datum)
	var located *damage.Error
	if err != nil {
		if !errors.As(err, &located) || out != nil || n != 0 {
			t.Fatalf("%d, %q, %v", n, out, err)
		}
		return 0, err
	}
	again, m, err := identity(t, r).Row(nil, out)
	if err != nil || m != len(out) || !bytes.Equal(again, out) {
		t.Fatalf("%s: % x is not a row: %v", r.JSON(), out, err)
	}
	if v.Identity() && !bytes.Equal(out, datum[:n]) {
		t.Fatalf("% x became % x, but the schemas are alike", datum[:n], out)
	}
	return n, nil
}

func TestResolveRandomSchemas(t *testing.T) {
	rows, refused, failed := 0, 0, 0
	for seed := range uint64(1500) {
		w, r, v := randomSchemas(t, seed)
		if v == nil {
			refused++
			continue
		}
		rnd := rand.New(rand.NewPCG(seed, 6))
		for range 4 {
			datum := randavro.Datum(rnd, w.Root())
			switch n, err := checkResolve(t, r, v, datum); {
			case err != nil:
				failed++
			case n != len(datum):
				t.Fatalf("%s: %d of %d bytes", w.JSON(), n, len(datum))
			default:
				rows++
			}
		}
	}
	t.Logf("%d rows, %d that took a branch or a symbol that the reader lacks, %d pairs refused", rows, failed, refused)
	if rows < 2000 || failed < 50 || refused < 50 {
		t.Error("the random schemas do not reach all outcomes")
	}
}

// FuzzResolve resolves any bytes between two generations of a random schema.
func FuzzResolve(f *testing.F) {
	for seed := range uint64(32) {
		if w, _, v := randomSchemas(f, seed); v != nil {
			f.Add(seed, randavro.Datum(rand.New(rand.NewPCG(seed, 6)), w.Root()))
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, datum []byte) {
		w, r, v := randomSchemas(t, seed)
		if v == nil {
			return
		}
		n, err := checkResolve(t, r, v, datum)
		if _, m, plain := identity(t, w).Row(nil, datum); err == nil && (plain != nil || m != n) {
			t.Fatalf("%s: % x resolves, but is not a row: %v", w.JSON(), datum, plain)
		}
	})
}

// FuzzResolver resolves any two schemas.
func FuzzResolver(f *testing.F) {
	for seed := range uint64(16) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		w := randavro.Schema(rnd)
		f.Add(w, randavro.Evolve(rnd, w), []byte{0, 0, 0, 0})
	}
	f.Add(`{"type":"record","name":"R","fields":[{"name":"n","type":["null","R"]}]}`,
		`{"type":"record","name":"R","fields":[{"name":"n","type":["null","R"]},{"name":"d","type":"R","default":{"n":null,"d":{}}}]}`, []byte{2, 2, 0})
	f.Fuzz(func(t *testing.T, writer, reader string, datum []byte) {
		w, err := shred.ParseSchema(writer)
		if err != nil {
			return
		}
		r, err := shred.ParseSchema(reader)
		if err != nil {
			return
		}
		if v, err := shred.Resolve(w, r, shred.AllowChanges); err == nil {
			_, _ = checkResolve(t, r, v, datum)
		}
	})
}

// BenchmarkResolve resolves mail to a schema that renames, widens, drops and adds
// fields, in the same order and in another.
func BenchmarkResolve(b *testing.B) {
	later := strings.NewReplacer(
		`"name":"from"`, `"name":"sender","aliases":["from"]`,
		`["null","int"]`, `["null","double"]`,
		`{"name":"seen","type":"boolean"},`, ``,
		`{"name":"date","type":"long"}`, `{"name":"date","type":"double"}`,
		`{"name":"body",`, `{"name":"flags","type":"string","default":""},{"name":"body",`,
	).Replace(mailgen.Schema)
	turned := strings.NewReplacer(`{"name":"id","type":"long"},`, ``, `{"name":"body",`, `{"name":"id","type":"long"},{"name":"body",`).Replace(later)
	set, err := datagen.Lookup("mail")
	testenv.Must(b, err)
	blocks := rowBlocks(b, set, 20_000)
	for _, c := range []struct{ name, reader string }{{"copied", mailgen.Schema}, {"in-order", later}, {"reordered", turned}} {
		b.Run(c.name, func(b *testing.B) { benchmarkResolve(b, c.reader, blocks) })
	}
}

func benchmarkResolve(b *testing.B, reader string, blocks [][]byte) {
	w, err := shred.ParseSchema(mailgen.Schema)
	testenv.Must(b, err)
	s, err := shred.ParseSchema(reader)
	testenv.Must(b, err)
	by, err := shred.Resolve(w, s, shred.AllowChanges)
	testenv.Must(b, err)
	r := shred.NewResolver(by, maxRow)
	var size int64
	for _, block := range blocks {
		size += int64(len(block))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var row []byte
	for b.Loop() {
		for _, data := range blocks {
			for len(data) > 0 {
				var n int
				if row, n, err = r.Row(row[:0], data); err != nil {
					b.Fatal(err)
				}
				data = data[n:]
			}
		}
	}
}
