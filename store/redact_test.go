package store_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestRedactNames(t *testing.T) {
	const hidden = "s3cr3t-Value_0123456789"
	for text, want := range map[string]string{
		"GET /webhdfs/v1/f?op=OPEN&delegation=" + hidden + "&offset=0": "GET /webhdfs/v1/f?op=OPEN&delegation=(hidden)&offset=0",
		"?Delegation=" + hidden:                    "?Delegation=(hidden)",
		"?token=" + hidden + " is refused":         "?token=(hidden) is refused",
		"%3Fdelegation%3D" + hidden:                "%3Fdelegation%3D(hidden)",
		"%253Fdelegation%253d" + hidden:            "%253Fdelegation%253d(hidden)",
		`{"password": "` + hidden + `"}`:           `{"password": "(hidden)"}`,
		"javax.net.ssl.keyStorePassword=" + hidden: "javax.net.ssl.keyStorePassword=(hidden)",
		"Authorization: Negotiate " + hidden:       "Authorization: Negotiate (hidden)",
		"proxy http://bob:" + hidden + "@proxy:80": "proxy http://(hidden)@proxy:80",
		"swebhdfs://bob:@host":                     "swebhdfs://(hidden)@host",
		"no token is needed":                       "no token is needed",
		"/data/token=1/password=2/f":               "/data/token=1/password=2/f",
		"basic authentication":                     "basic authentication",
		"hdfs://nn:8020/a@b":                       "hdfs://nn:8020/a@b",
	} {
		if got := store.Redact(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// TestWithRedaction checks that no error of a store shows a secret.
func TestWithRedaction(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "secret", "word") }
	ctx := t.Context()
	var failure error // nil: the store works
	st := store.WithRedaction(store.Intercept(memstore.New().Client(), func(c *store.Call) error {
		if failure == nil {
			return c.Do()
		}
		return failure
	}), hide)
	w, err := st.Create(ctx, "/f", store.CreateOptions{Size: -1})
	testenv.Must(t, err)
	f, err := st.Open(ctx, "/f")
	testenv.Must(t, err)
	for _, failure = range []error{
		fmt.Errorf("secret: %w", fs.ErrPermission),
		&fs.PathError{Op: "stat", Path: "/f", Err: fmt.Errorf("secret: %w", fs.ErrPermission)},
		&os.LinkError{Op: "rename", Old: "/f", New: "/g", Err: fmt.Errorf("secret: %w", fs.ErrPermission)},
	} {
		calls := storetest.Calls(ctx, st, "")
		for op, do := range map[storetest.Op]func() error{
			store.OpChecksum: func() error { _, err := store.CapabilitiesOf(st).Checksum(ctx, "/f"); return err },
			storetest.ReadAt: func() error { _, err := f.ReadAt(nil, 0); return err },
			storetest.Close:  func() error { return f.Close() },
			storetest.Write:  func() error { _, err := w.Write(nil); return err },
			storetest.Commit: func() error { return w.Commit(ctx) },
			storetest.Abort:  func() error { return w.Abort() },
		} {
			calls[op] = do
		}
		for what, do := range calls {
			err := do()
			if err == nil || strings.Contains(err.Error(), "secret") || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if path := (*fs.PathError)(nil); errors.As(err, &path) && strings.Contains(path.Err.Error(), "secret") {
				t.Errorf("%s: %v within", what, path.Err)
			}
		}
	}
	failure = nil
	testenv.Must(t, st.Mkdir(ctx, "/secret"))
	if infos, err := st.List(ctx, "/"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("list of a secret name: %+v, %v", infos, err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); err != io.EOF {
		t.Errorf("read at the end: %v", err)
	}
}
