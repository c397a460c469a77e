package input

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/manifest"
)

// write writes an Avro file of so many blocks of one string.
func write(t *testing.T, file, value string, blocks int) {
	t.Helper()
	rows := make([][]byte, blocks)
	for i := range rows {
		rows[i] = append([]byte{byte(2 * len(value))}, value...)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, avrotest.File(t, `"string"`, [16]byte{1, 2, 3}, 1, rows...), 0o666); err != nil {
		t.Fatal(err)
	}
}

func describe(t *testing.T, file string) manifest.Input {
	t.Helper()
	in, _, err := Describe(t.Context(), nil, file)
	if err != nil {
		t.Fatal(err)
	}
	return in
}
