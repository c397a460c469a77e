package task

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	other "github.com/parquet-go/parquet-go"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/parquet"
)

const pairSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"word","type":"string"}]}`

// pairRow returns row i.
func pairRow(i int) []byte {
	word := fmt.Sprint("word ", i%1000)
	return append(binary.AppendVarint(binary.AppendVarint(nil, int64(i)), int64(len(word))), word...)
}

// writeRowFile writes rows, and checks that nothing is left.
func writeRowFile(t *testing.T, e Environment, rows int, out io.Writer) (err error) {
	t.Helper()
	e.TempDir = t.TempDir()
	defer func() {
		if left, _ := os.ReadDir(e.TempDir); len(left) > 0 || e.Memory.Available() != e.Memory.Size() {
			t.Errorf("left %v, and %d of %d bytes of memory", left, e.Memory.Available(), e.Memory.Size())
		}
	}()
	f, err := NewRowFile(t.Context(), e, RowFileConfig{Format: parquet.Format, Mapping: avrotest.Map(t, pairSchema), BlockSize: 16 << 10}, out)
	if err != nil {
		return err
	}
	defer func() { testenv.Must(t, f.Close()) }()
	for i := range rows {
		if err := f.Write(pairRow(i), mapper.Place{Source: "rows", Row: int64(i)}); err != nil {
			return err
		}
	}
	return f.Finish()
}

// TestRowFile checks that a file has the same bytes with different workers and memory, and that
// another reader finds all rows in row groups of the stated size.
func TestRowFile(t *testing.T) {
	const rows = fileGroupRows + 5
	var first bytes.Buffer
	testenv.Must(t, writeRowFile(t, Environment{Workers: 1, Memory: budget.New(512 << 20)}, rows, &first))
	for workers, memory := range map[int]int64{2: 24 << 20, 5: 64 << 20} {
		var b bytes.Buffer
		testenv.Must(t, writeRowFile(t, Environment{Workers: workers, Memory: budget.New(memory)}, rows, &b))
		if !bytes.Equal(b.Bytes(), first.Bytes()) {
			t.Errorf("%d workers: %d other bytes than the %d of one worker", workers, b.Len(), first.Len())
		}
	}
	f, err := other.OpenFile(bytes.NewReader(first.Bytes()), int64(first.Len()))
	testenv.Must(t, err)
	if g := f.RowGroups(); len(g) != 2 || g[0].NumRows() != fileGroupRows || g[1].NumRows() != 5 {
		t.Fatalf("%d row groups", len(g))
	}
	last := make([]other.Row, 6)
	n, _ := f.RowGroups()[1].Rows().ReadRows(last)
	if n != 5 || last[4][0].Int64() != rows-1 || last[4][1].String() != fmt.Sprint("word ", (rows-1)%1000) {
		t.Errorf("%d rows, the last is %v", n, last[max(n-1, 0)])
	}
	var empty bytes.Buffer
	testenv.Must(t, writeRowFile(t, Environment{Memory: budget.New(64 << 20)}, 0, &empty))
	if f, err := other.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len())); err != nil || f.NumRows() != 0 {
		t.Error(err)
	}
}

func TestRowFileFails(t *testing.T) {
	var b bytes.Buffer
	err := writeRowFile(t, Environment{Memory: budget.New(8 << 20)}, 10, &b)
	var e *budget.Error
	if !errors.As(err, &e) || e.Need <= 8<<20 || !strings.Contains(err.Error(), "2 columns") || b.Len() > 0 {
		t.Errorf("too little memory: %v, %d bytes", err, b.Len())
	}
	full := errors.New("disk full")
	if err := writeRowFile(t, Environment{Memory: budget.New(64 << 20)}, 10, fullWriter{full}); !errors.Is(err, full) {
		t.Error(err)
	}
	_, err = NewRowFile(t.Context(), Environment{TempDir: t.TempDir() + "/none", Memory: budget.New(64 << 20)}, RowFileConfig{
		Format: parquet.Format, Mapping: avrotest.Map(t, pairSchema), BlockSize: 16 << 10,
	}, &b)
	if failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "--temp-dir") {
		t.Error(err)
	}
	_, err = NewRowFile(t.Context(), Environment{TempDir: t.TempDir()}, RowFileConfig{
		Format: parquet.Format, Options: []byte(`{"unknown":1}`), Mapping: avrotest.Map(t, pairSchema), BlockSize: 16 << 10,
	}, &b)
	if failure.KindOf(err) != failure.Usage {
		t.Error(err)
	}
}

// fullWriter is a writer that fails.
type fullWriter struct{ err error }

func (f fullWriter) Write([]byte) (int, error) { return 0, f.err }
