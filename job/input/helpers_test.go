package input

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// write writes an Avro file with blocks of one string.
func write(t *testing.T, file, value string, blocks int) {
	t.Helper()
	rows := make([][]byte, blocks)
	for i := range rows {
		rows[i] = append([]byte{byte(2 * len(value))}, value...)
	}
	testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o777))
	testenv.Must(t, os.WriteFile(file, avrotest.File(t, `"string"`, [16]byte{1, 2, 3}, 1, rows...), 0o666))
	old := time.Now().Add(-time.Hour)
	testenv.Must(t, os.Chtimes(file, old, old))
}

// checkRead calls Check for inputs that a task read completely when they were described.
func checkRead(t *testing.T, resolve Resolve, inputs ...manifest.Input) error {
	t.Helper()
	task, res := manifest.Task{}, &manifest.TaskResult{}
	for i, in := range inputs {
		task.Pieces = append(task.Pieces, manifest.Piece{Input: i, End: in.Size})
		res.Reads = append(res.Reads, manifest.Read{CRC32C: *in.CRC32C, FileID: in.FileID, ModTime: in.ModTime, Recent: in.Recent})
		inputs[i].CRC32C = nil
	}
	p := &manifest.Plan{Request: manifest.Request{Inputs: inputs}, Tasks: []manifest.Task{task}}
	found, err := Check(t.Context(), resolve, p, []*manifest.TaskResult{res})
	for i, in := range found {
		if err == nil && in.CRC32C == nil {
			t.Errorf("input %d has no CRC-32C", i)
		}
	}
	return err
}

func describe(t *testing.T, file string) manifest.Input {
	t.Helper()
	in, _, err := Describe(t.Context(), nil, file)
	testenv.Must(t, err)
	testenv.Must(t, Sum(t.Context(), nil, &in))
	return in
}
