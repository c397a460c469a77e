package hfile

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestBoundOfRows writes rows of many sizes and compares the size of the file with the bound
// that was computed from the rows in another order.
func TestBoundOfRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, document := range []string{`{"key":["id"]}`, `{"key":["id"],"bloom":"hbase"}`, `{"key":["id"],"bloom":"hudi"}`, `{"key":["id"],"block_codec":"gz","bloom":"hudi"}`, `{"key":["id"],"block_codec":"gz","bloom":"hbase","family":"f","qualifier":"q","timestamp":7}`} {
		for _, rows := range []int{0, 1, 10, 3000} {
			for _, size := range []int{1, 40, 2000} {
				t.Run(fmt.Sprint(document, rows, size), func(t *testing.T) {
					w, err := Format.Writer([]byte(document))
					testenv.Must(t, err)
					group, err := w.(format.RowWriter).NewRows(`"bytes"`)
					testenv.Must(t, err)
					keys := make([][]byte, rows)
					value := make([]byte, size)
					for i := range value {
						value[i] = byte(random.Uint32()) // gzip makes it larger
					}
					for i := range keys {
						keys[i] = fmt.Appendf(nil, "%08d%*d", random.IntN(rows), random.IntN(size)+1, 0)
						before := group.Size()
						testenv.Must(t, group.Admit(keys[i], value))
						if group.Size() <= before {
							t.Fatal("a row does not raise the bound")
						}
					}
					bound := group.Size()
					slices.SortFunc(keys, bytes.Compare)
					var file bytes.Buffer
					testenv.Must(t, group.Start(&file))
					for _, k := range keys {
						testenv.Must(t, group.Append(k, value))
					}
					out, err := group.Finish(int64(rows))
					if err != nil || len(out) != 1 || out[0].Size != int64(file.Len()) {
						t.Fatalf("%v, %v", out, err)
					}
					tight := document == `{"key":["id"]}` || strings.HasSuffix(document, `,"bloom":"hudi"}`) && rows > 0 && !strings.Contains(document, "gz")
					if size := int64(file.Len()); size > bound || tight && bound > size*5/4+20<<10 {
						t.Errorf("%d bytes, the bound is %d", size, bound)
					}
					readBack(t, &file, keys, value)
				})
			}
		}
	}
}

func readBack(t *testing.T, file *bytes.Buffer, keys [][]byte, value []byte) {
	t.Helper()
	p, err := Format.Open([]format.File{formattest.NewFile("f", file.Bytes())}, format.OpenOptions{})
	testenv.Must(t, err)
	if err := p.Verify(t.Context(), nil); err != nil || p.Rows() != int64(len(keys)) || p.Schema() != `"bytes"` || !Format.Recognizes(file.Bytes()[:format.HeadSize]) {
		t.Errorf("%d rows of %s, %v", p.Rows(), p.Schema(), err)
	}
	rows, err := p.(format.RowPart).Read()
	testenv.Must(t, err)
	defer rows.Close()
	for range keys {
		if datum, err := rows.Next(); err != nil || !bytes.Equal(datum, value) {
			t.Fatalf("a row of %d bytes, %v", len(datum), err)
		}
	}
	if _, err := rows.Next(); err != io.EOF {
		t.Errorf("after the rows: %v", err)
	}
}

func TestRowsThatDoNotFit(t *testing.T) {
	w, err := Format.Writer([]byte(`{"key":["id"]}`))
	testenv.Must(t, err)
	group, err := w.(format.RowWriter).NewRows(`"bytes"`)
	testenv.Must(t, err)
	if err := group.Admit(make([]byte, MaxRow+1), nil); err == nil {
		t.Error("a key that is too long is accepted")
	}
	if err := group.Admit(make([]byte, 8), make([]byte, MaxDataBlock)); err == nil {
		t.Error("a row that no block can hold is accepted")
	}
}
