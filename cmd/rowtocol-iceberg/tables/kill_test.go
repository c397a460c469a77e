package tables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// Variables of a process of the tests that syncs, and dies at a call of the store.
const (
	killKind = "ROWTOCOL_TEST_SYNC" // kind of the catalog
	killDir  = "ROWTOCOL_TEST_DIR"
	killCall = "ROWTOCOL_TEST_CALL"
	// killed is the exit code of a process that died.
	killed = 99
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(killKind); kind != "" {
		os.Exit(syncAndDie(kind))
	}
	os.Exit(m.Run())
}

// changes are the calls of a store that change files.
var changes = map[store.Op]bool{store.OpWriteFile: true, store.OpRename: true, store.OpRemove: true, store.OpMkdir: true}

// syncAndDie syncs, and ends the process before or after a call of the store that changes files.
func syncAndDie(kind string) int {
	last, err := strconv.Atoi(os.Getenv(killCall))
	if err != nil {
		return 1
	}
	var calls atomic.Int64
	step := func() {
		if calls.Add(1) == int64(last) {
			os.Exit(killed)
		}
	}
	st := store.Intercept(store.Local(), func(c *store.Call) error {
		if !changes[c.Op] {
			return c.Do()
		}
		step()
		err := c.Do()
		step()
		return err
	})
	dir := os.Getenv(killDir)
	f := &fixture{dir: dir, dest: dir + "/dest"}
	o := f.options(kind)
	o.Resolve = func(location string) (store.Location, error) {
		at, err := store.Resolve(location)
		at.Store = st
		return at, err
	}
	if _, err := Sync(context.Background(), o); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// A process that syncs is killed before and after each change of a file.
func TestKilledSyncs(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		rows := 0
		for call, done := 1, false; !done; call++ {
			switch {
			case call%7 == 6:
				f.removeInputs("")
				f.input("", 0, 5)
				f.convert("", replacement)
				rows = 5
			default:
				f.input("", rows, rows+10)
				f.convert("", increment)
				rows += 10
			}
			done = f.killed(kind, call)
			if kind == "hadoop" {
				f.age()
			}
			f.sync(o)
			f.check(o, int64(rows))
		}
	})
}

// killed syncs in a process that is killed at a call. It returns true if there are fewer calls.
func (f *fixture) killed(kind string, call int) bool {
	f.t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), killKind+"="+kind, killDir+"="+f.dir, killCall+"="+strconv.Itoa(call))
	out, err := program.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == killed) {
		f.t.Fatalf("%v: %s", err, out)
	}
	return err == nil
}

// age makes the claims of dead processes old, which another process would have to wait for.
func (f *fixture) age() {
	f.t.Helper()
	names, err := filepath.Glob(filepath.Join(f.dir, "hadoop/ns/t/metadata/*.claim"))
	testenv.Must(f.t, err)
	for _, name := range names {
		old := time.Now().Add(-time.Hour)
		testenv.Must(f.t, os.Chtimes(name, old, old))
	}
}
