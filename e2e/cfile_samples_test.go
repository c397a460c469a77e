package e2e

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
)

// samples are CFiles that Kudu wrote.
const samples = "../cfile/testdata/kudu"

// TestCFileSamples reads files of Kudu by the library and by the program, and compares
// with Kudu. To the program, a single CFile is a dataset of one column.
func TestCFileSamples(t *testing.T) {
	k := newKudu(t)
	files, err := filepath.Glob(samples + "/*.cf")
	if err != nil || len(files) < 9 {
		t.Fatal("no samples: ", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want []byte
			if name := filepath.Base(file); !strings.HasPrefix(name, "bloom_") { // the blocks of bloom files have no rows
				_, want, err = k.dump(file)
				must(t, err)
			}
			footer, rows := readCFile(t, file)
			if got := kuduText(footer.Type, rows, footer.Nullable); string(got) != string(want) {
				t.Error("the library: ", firstDifference(want, got))
			}
			if len(want) == 0 {
				run(t, "cat", file).want(t, 3)
			} else if got := kuduTextOfJSON(t, footer.Type, run(t, "cat", file).want(t, 0).stdout); string(got) != string(want) {
				t.Error("cat: ", firstDifference(want, got))
			}
			run(t, "inspect", file).want(t, 0)
			dump := run(t, "inspect", "--bytes", file).want(t, 0).stdout
			if got, want := dumped(t, dump), readFile(t, file); !bytes.Equal(got, want) {
				t.Errorf("inspect --bytes shows %d bytes, not the file's %d:\n%.500s", len(got), len(want), dump)
			}
			run(t, "verify", file).want(t, 0)
		})
	}
}

// dumped returns the bytes that inspect --bytes shows, up to the first gap.
func dumped(t *testing.T, dump string) (all []byte) {
	t.Helper()
	const digits, width = 8, 16 * len("00 ") // of an offset, and of bytes in a line
	for line := range strings.Lines(dump) {
		line = strings.TrimSuffix(line, "\n")
		offset, err := strconv.ParseInt(line[:min(digits, len(line))], 16, 64)
		if err != nil || len(line) < digits+2 {
			continue // a heading
		}
		shown := line[digits+2 : min(digits+2+width, len(line))]
		b, err := hex.DecodeString(strings.ReplaceAll(shown, " ", ""))
		must(t, err)
		if int(offset) != len(all) {
			break
		}
		all = append(all, b...)
	}
	return all
}

// kuduTextOfJSON returns Kudu's text for values, each the only field of a line of JSON.
func kuduTextOfJSON(t *testing.T, typ cfile.Type, lines string) []byte {
	t.Helper()
	var text []byte
	in := bufio.NewScanner(strings.NewReader(lines))
	for in.Scan() {
		var row struct{ Value any }
		d := json.NewDecoder(strings.NewReader(in.Text()))
		d.UseNumber()
		must(t, d.Decode(&row))
		switch v := row.Value.(type) {
		case nil:
			text = append(text, "NULL"...)
		case bool:
			text = appendKuduFixed(text, typ, []byte{bit(v)})
		case string:
			text = appendKuduBinary(text, typ, []byte(v))
		case json.Number:
			if typ != cfile.Double {
				text = append(text, v...)
				break
			}
			f, err := v.Float64()
			must(t, err)
			text = appendKuduFixed(text, typ, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
		default:
			t.Fatalf("a value is %T", v)
		}
		text = append(text, '\n')
	}
	return text
}

// TestCFileSampleIndexes checks Kudu's own files after their positional index was removed.
func TestCFileSampleIndexes(t *testing.T) {
	k := newKudu(t)
	for _, name := range []string{"i32_bshuf_lz4_multilevel.cf", "i32_plain_validx.cf", "str_prefix_validx_snappy.cf"} {
		file := filepath.Join(samples, name)
		bare := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(bare, withoutPositions(t, readFile(t, file)), 0o666))
		footer, rows := readCFile(t, file)
		k.wantRows(t, bare, kuduText(footer.Type, rows, footer.Nullable))
		wantOwnRows(t, bare, rows)
	}
}
