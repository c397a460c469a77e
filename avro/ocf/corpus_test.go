package ocf

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/corpus"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestCorpus reads the files of a folder and compares them with its INDEX.tsv.
func TestCorpus(t *testing.T) {
	counts := map[string]int{}
	for _, e := range corpus.Entries(t) {
		name, class, rows := e.Name, e.Class, e.Rows
		file, err := os.ReadFile(e.Path)
		testenv.Must(t, err)
		counts[class]++
		got, err := readRows(t, file)
		var d *damage.Error
		switch class {
		case "not-OCF":
			if !errors.As(err, &d) {
				t.Errorf("%s: %d rows, error %v; want damage", name, got, err)
			}
		case "corrupt", "trailing-junk": // in blocks or in rows
			if err != nil && !errors.As(err, &d) {
				t.Errorf("%s: %v; want damage", name, err)
			}
		default:
			if err != nil || got != rows {
				t.Errorf("%s: %d rows, error %v; want %d rows", name, got, err, rows)
			}
		}
	}
	t.Log(counts)
}

// readRows decodes every block of the file and also checks that its ranges
// partition it.
func readRows(t *testing.T, file []byte) (rows int64, err error) {
	size := int64(len(file))
	h, err := ReadHeader(bytes.NewReader(file), size, "f.avro")
	if err != nil {
		return 0, err
	}
	d := newDecoder(t, h.Codec, 512<<20)
	s := scanner(h, file, Range{0, size})
	var b Block
	var data []byte
	for {
		if err := s.Next(t.Context(), &b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return rows, err
		}
		if data, err = d.Decode(data, &b, "f.avro"); err != nil {
			return rows, err
		}
		rows += b.Rows
	}
	r := rand.New(rand.NewPCG(uint64(size), 1))
	for range 5 {
		checkPartition(t, h, file, split(r, size, 4))
	}
	return rows, nil
}
