package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
)

// TestHDFSInputGone replaces and removes an input while a conversion reads it,
// which is the fault of who does that.
func TestHDFSInputGone(t *testing.T) {
	s := newSite(t, hadooptest.Shared(t), 40_000, "--row-group-size=2MiB", "--workers=1", "--store-retry=3s")
	data, err := os.ReadFile(s.input)
	must(t, err)
	for name, change := range map[string]func(t *testing.T, in store.Location){
		"replaced, longer": func(t *testing.T, in store.Location) {
			must(t, in.Store.WriteFile(t.Context(), in.Path, append(data[:len(data):len(data)], 0), false))
		},
		"replaced, shorter": func(t *testing.T, in store.Location) {
			must(t, in.Store.WriteFile(t.Context(), in.Path, data[:len(data)/3], false))
		},
		"replaced, of the same length": func(t *testing.T, in store.Location) {
			other := bytes.Clone(data)
			other[len(other)-20] ^= 1
			must(t, in.Store.WriteFile(t.Context(), in.Path, other, false))
		},
		"removed": func(t *testing.T, in store.Location) { must(t, in.Store.Remove(t.Context(), in.Path)) },
	} {
		for client, uri := range s.clients() {
			t.Run(name+" over "+client, func(t *testing.T) {
				in := s.at(t, uri+"/gone.avro")
				must(t, in.Store.WriteFile(t.Context(), in.Path, data, false))
				dest := filepath.Join(t.TempDir(), "out")
				r := launch(t, command("convert", "--row-group-size=2MiB", "--workers=1", "--store-retry=3s", uri+"/gone.avro", dest))
				if !r.stopAt(t, store.Location{Store: store.Local(), Path: dest}, ".rowtocol/*/run-*/task-*") {
					t.Fatalf("the conversion ended\n%s", r.stderr)
				}
				change(t, in)
				must(t, r.cmd.Process.Signal(syscall.SIGCONT))
				r.want(t, 3)
				wantEmpty(t, dest)
			})
		}
	}
}
