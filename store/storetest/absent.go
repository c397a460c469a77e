package storetest

import "github.com/rowtocol/rowtocol/store"

func testNotFound(e env) {
	_, err := e.st.Open(e.ctx, e.path("no"))
	e.wantError(err, store.ErrNotExist)
	_, err = e.st.Stat(e.ctx, e.path("no"))
	e.wantError(err, store.ErrNotExist)
	_, err = e.st.List(e.ctx, e.path("no"))
	e.wantError(err, store.ErrNotExist)
	_, err = e.st.ReadFile(e.ctx, e.path("no"), 10)
	e.wantError(err, store.ErrNotExist)
	e.wantError(e.st.Remove(e.ctx, e.path("no")), store.ErrNotExist)
	e.wantError(e.st.Rename(e.ctx, e.path("no"), e.path("f")), store.ErrNotExist)
	e.must(e.st.RemoveAll(e.ctx, e.path("no")))
	if c := store.Classify(err); c != store.NotFound {
		e.Errorf("class is %v", c)
	}
}

func testBelowFile(e env) {
	e.write("f", nil)
	_, err := e.st.Open(e.ctx, e.path("f/below"))
	if !store.Absent(err) {
		e.Errorf("open: %v", err)
	}
	_, err = e.st.Stat(e.ctx, e.path("f/below"))
	if !store.Absent(err) {
		e.Errorf("stat: %v", err)
	}
	_, err = e.st.ReadFile(e.ctx, e.path("f/below"), 10)
	if !store.Absent(err) {
		e.Errorf("read: %v", err)
	}
	_, err = e.st.List(e.ctx, e.path("f"))
	if !store.Absent(err) {
		e.Errorf("list: %v", err)
	}
}

func testOpenDir(e env) {
	e.must(e.st.Mkdir(e.ctx, e.path("d")))
	_, err := e.st.Open(e.ctx, e.path("d"))
	if store.Classify(err) != store.Final {
		e.Errorf("open of a directory: %v", err)
	}
	_, err = e.st.ReadFile(e.ctx, e.path("d"), 10)
	if store.Classify(err) != store.Final {
		e.Errorf("read of a directory: %v", err)
	}
	e.write("f", nil)
	_, err = e.st.Create(e.ctx, e.path("f/g"), store.CreateOptions{Size: 1})
	if store.Classify(err) != store.Final {
		e.Errorf("create below a file: %v", err)
	}
}
