package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

// env is the environment of a subtest.
type env struct {
	*testing.T
	st  store.Store
	dir string
	ctx context.Context
}

func (e env) path(name string) string { return path.Join(e.dir, name) }

func (e env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e env) wantError(err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("error is %v, want %v", err, want)
	}
}

func (e env) write(name string, data []byte) {
	e.Helper()
	w, err := e.st.Create(e.ctx, e.path(name), store.CreateOptions{Size: int64(len(data))})
	e.must(err)
	_, err = w.Write(data)
	e.must(err)
	e.must(w.Commit(e.ctx))
}

func (e env) wantContent(name string, want []byte) {
	e.Helper()
	got, err := e.st.ReadFile(e.ctx, e.path(name), 1<<20)
	e.must(err)
	if !bytes.Equal(got, want) {
		e.Fatalf("%s holds %d bytes %.40q, want %d bytes %.40q", name, len(got), got, len(want), want)
	}
}

func (e env) wantAbsent(name string) {
	e.Helper()
	_, err := e.st.Stat(e.ctx, e.path(name))
	e.wantError(err, store.ErrNotExist)
}

func (e env) wantNames(want ...string) {
	e.Helper()
	infos, err := e.st.List(e.ctx, e.dir)
	e.must(err)
	var got []string
	for _, i := range infos {
		got = append(got, i.Name)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		e.Fatalf("the directory holds %q, want %q", got, want)
	}
}
