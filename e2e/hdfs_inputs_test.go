package e2e

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestHDFSInputGone checks the error if an input is replaced or removed while a conversion reads
// the input. It is the error of a changed input, not of storage.
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
		"replaced, its header and end the same": func(t *testing.T, in store.Location) {
			other := bytes.Clone(data)
			other[len(other)/4] ^= 1
			must(t, in.Store.WriteFile(t.Context(), in.Path, other, false))
		},
		"removed": func(t *testing.T, in store.Location) { must(t, in.Store.Remove(t.Context(), in.Path)) },
	} {
		for client, uri := range s.clients() {
			t.Run(name+" over "+client, func(t *testing.T) {
				in := s.locate(t, uri+"/gone.avro")
				must(t, in.Store.WriteFile(t.Context(), in.Path, data, false))
				dest := filepath.Join(t.TempDir(), "out")
				r := launch(t, command("convert", "--row-group-size=2MiB", "--workers=1", "--store-retry=3s", uri+"/gone.avro", dest))
				if !r.suspendAt(t, store.Location{Store: store.Local(), Path: dest}, ".rowtocol/plan-*/task-*") {
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

// TestHDFSSameInput converts an input with each client and with two names of the host. All
// of them recognize it as the same file. HttpFS may have no file IDs.
func TestHDFSSameInput(t *testing.T) {
	s := newSite(t, hadooptest.Shared(t), 20_000)
	uris := map[string]string{
		"RPC": s.URI(), "another host name": strings.Replace(s.URI(), "127.0.0.1", "localhost", 1), "WebHDFS": s.WebURI(), "HttpFS": s.HTTPFS(),
	}
	data, err := os.ReadFile(s.input)
	must(t, err)
	in := s.locate(t, s.URI()+"/same/in")
	must(t, storetest.MkdirAll(t.Context(), in.Store, in.Path))
	must(t, in.Store.WriteFile(t.Context(), path.Join(in.Path, "a.avro"), data, false))
	time.Sleep(2500 * time.Millisecond) // so that a change shows in the time
	outputs := map[string]string{}
	convert := func(protocol, dest string, exit int, says string, flags ...string) {
		t.Helper()
		args := append([]string{"convert", "--incremental"}, flags...)
		r := run(t, append(args, uris[protocol]+"/same/in", dest)...).want(t, exit)
		if !strings.Contains(r.stdout+r.stderr, says) {
			t.Errorf("%s, %v: %q is not in the output\n%s%s", protocol, flags, says, r.stdout, r.stderr)
		}
	}
	for protocol := range uris {
		outputs[protocol] = filepath.Join(t.TempDir(), "out")
		convert(protocol, outputs[protocol], 0, "20000 rows")
	}
	for first, dest := range outputs {
		for second := range uris {
			if first != second {
				t.Logf("%s, then %s", first, second)
				convert(second, dest, 0, "nothing to do")
			}
		}
	}
	// A restored file has another ID and time, a renamed one another path.
	must(t, in.Store.WriteFile(t.Context(), path.Join(in.Path, "a.avro"), data, false))
	for protocol, dest := range outputs {
		convert(protocol, dest, 0, "nothing to do")
	}
	other := bytes.Clone(data)
	other[len(other)/4] ^= 1
	must(t, in.Store.WriteFile(t.Context(), path.Join(in.Path, "a.avro"), other, false))
	for protocol, dest := range outputs {
		convert(protocol, dest, 3, "changed")
	}
	must(t, in.Store.WriteFile(t.Context(), path.Join(in.Path, "a.avro"), data, false))
	dest := filepath.Join(t.TempDir(), "renamed")
	convert("RPC", dest, 0, "20000 rows")
	must(t, in.Store.Rename(t.Context(), path.Join(in.Path, "a.avro"), path.Join(in.Path, "b.avro")))
	convert("WebHDFS", dest, 0, "nothing to do")
	must(t, in.Store.WriteFile(t.Context(), path.Join(in.Path, "c.avro"), data, false))
	convert("HttpFS", dest, 3, "the same content as", "--copies", "refuse")
	convert("RPC", dest, 0, "nothing to do", "--copies", "skip")
	convert("RPC", dest, 0, "the same content as")
}
