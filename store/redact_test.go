package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/store"
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

// tells is a store whose every error tells a secret.
type tells struct{ err error }

func (s tells) Capabilities() store.Capabilities {
	return store.Capabilities{Checksum: func(context.Context, string) (string, error) { return "", s.err }}
}
func (s tells) Open(context.Context, string) (store.File, error) { return nil, s.err }
func (s tells) Create(context.Context, string, store.CreateOptions) (store.Writer, error) {
	return nil, s.err
}
func (s tells) Stat(context.Context, string) (store.Info, error)        { return store.Info{}, s.err }
func (s tells) List(context.Context, string) ([]store.Info, error)      { return nil, s.err }
func (s tells) Rename(context.Context, string, string) error            { return s.err }
func (s tells) Remove(context.Context, string) error                    { return s.err }
func (s tells) RemoveAll(context.Context, string) error                 { return s.err }
func (s tells) Mkdir(context.Context, string) error                     { return s.err }
func (s tells) ReadFile(context.Context, string, int64) ([]byte, error) { return nil, s.err }
func (s tells) WriteFile(context.Context, string, []byte, bool) error   { return s.err }

// opens is a store of one file, which tells only as that is used.
type opens struct{ tells }

func (s opens) Open(context.Context, string) (store.File, error) { return tellsFile(s), nil }
func (s opens) Create(context.Context, string, store.CreateOptions) (store.Writer, error) {
	return tellsWriter(s), nil
}
func (s opens) List(context.Context, string) ([]store.Info, error) {
	return []store.Info{{Name: "secret"}}, nil
}

type tellsFile struct{ tells }

func (f tellsFile) Name() string                         { return "/f" }
func (f tellsFile) Size() int64                          { return 1 }
func (f tellsFile) ReadAt([]byte, int64) (int, error)    { return 0, f.err }
func (f tellsFile) ReadRange([]byte, int64) (int, error) { return 0, f.err }
func (f tellsFile) Close() error                         { return f.err }

type tellsWriter struct{ tells }

func (w tellsWriter) Write([]byte) (int, error)    { return 0, w.err }
func (w tellsWriter) Commit(context.Context) error { return w.err }
func (w tellsWriter) Abort() error                 { return w.err }

func TestWithRedaction(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "secret", "word") }
	ctx := t.Context()
	for _, told := range []error{
		fmt.Errorf("secret: %w", fs.ErrPermission),
		&fs.PathError{Op: "stat", Path: "/f", Err: fmt.Errorf("secret: %w", fs.ErrPermission)},
		&os.LinkError{Op: "rename", Old: "/f", New: "/g", Err: fmt.Errorf("secret: %w", fs.ErrPermission)},
	} {
		st := store.WithRedaction(tells{told}, hide)
		open := store.WithRedaction(opens{tells{told}}, hide)
		f, _ := open.Open(ctx, "/f")
		w, _ := open.Create(ctx, "/f", store.CreateOptions{})
		for what, do := range map[string]func() error{
			"checksum":  func() error { _, err := store.CapabilitiesOf(st).Checksum(ctx, "/f"); return err },
			"open":      func() error { _, err := st.Open(ctx, "/f"); return err },
			"create":    func() error { _, err := st.Create(ctx, "/f", store.CreateOptions{}); return err },
			"stat":      func() error { _, err := st.Stat(ctx, "/f"); return err },
			"list":      func() error { _, err := st.List(ctx, "/f"); return err },
			"rename":    func() error { return st.Rename(ctx, "/f", "/g") },
			"remove":    func() error { return st.Remove(ctx, "/f") },
			"removeAll": func() error { return st.RemoveAll(ctx, "/f") },
			"mkdir":     func() error { return st.Mkdir(ctx, "/f") },
			"readFile":  func() error { _, err := st.ReadFile(ctx, "/f", 1); return err },
			"writeFile": func() error { return st.WriteFile(ctx, "/f", nil, true) },
			"readAt":    func() error { _, err := f.ReadAt(nil, 0); return err },
			"readRange": func() error { _, err := store.ReadRange(f, nil, 0); return err },
			"close":     func() error { return f.Close() },
			"write":     func() error { _, err := w.Write(nil); return err },
			"commit":    func() error { return w.Commit(ctx) },
			"abort":     func() error { return w.Abort() },
		} {
			err := do()
			if err == nil || strings.Contains(err.Error(), "secret") || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if path := (*fs.PathError)(nil); errors.As(err, &path) && strings.Contains(path.Err.Error(), "secret") {
				t.Errorf("%s: %v within", what, path.Err)
			}
		}
		if infos, err := open.List(ctx, "/"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a secret is listed: %+v, %v", infos, err)
		}
	}
	ends := store.WithRedaction(opens{tells{io.EOF}}, hide)
	f, _ := ends.Open(ctx, "/f")
	if _, err := f.ReadAt(nil, 0); err != io.EOF {
		t.Errorf("the end is %v", err)
	}
}
