package hadoop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

// ownedStore is an in-memory store whose files have owners and modes.
type ownedStore struct {
	store.Store
	mu          sync.Mutex
	modes       map[string]fs.FileMode // set by SetMode
	otherOwners map[string]string      // owners other than this user
	created     []string               // files that were created
}

func newOwnedStore() *ownedStore {
	return &ownedStore{Store: memstore.New().Client(), modes: map[string]fs.FileMode{}, otherOwners: map[string]string{}}
}

func (o *ownedStore) Capabilities() store.Capabilities {
	return store.Capabilities{
		Access: func(ctx context.Context, p string) (store.Access, error) {
			if _, err := o.Stat(ctx, p); err != nil {
				return store.Access{}, err
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			a := store.Access{Owner: "etl", Mode: 0o755}
			if mode, ok := o.modes[p]; ok {
				a.Mode = mode
			}
			if owner, ok := o.otherOwners[p]; ok {
				a.Owner = owner
			}
			return a, nil
		},
		SetMode: func(_ context.Context, p string, mode fs.FileMode) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.modes[p] = mode
			return nil
		},
	}
}

func (o *ownedStore) Create(ctx context.Context, p string, c store.CreateOptions) (store.Writer, error) {
	o.mu.Lock()
	o.created = append(o.created, p)
	o.mu.Unlock()
	return o.Store.Create(ctx, p, c)
}

func (o *ownedStore) Rename(ctx context.Context, from, to string) error {
	if err := o.Store.Rename(ctx, from, to); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if mode, ok := o.modes[from]; ok {
		o.modes[to] = mode
	}
	return nil
}

func resolveTo(st store.Store) input.Resolve {
	return func(location string) (store.Location, error) {
		return store.Location{Store: st, Origin: "hdfs://nn", Path: barePath(location)}, nil
	}
}

const homeLocation = "hdfs:///user/etl"

// newHome returns a home directory, its store, and the path of a local program.
func newHome(t *testing.T, program string) (h *home, o *ownedStore, exe string) {
	t.Helper()
	o, exe = newOwnedStore(), filepath.Join(t.TempDir(), "exe")
	h, err := openHome(t.Context(), resolveTo(o), homeLocation)
	if err == nil {
		err = os.WriteFile(exe, []byte(program), 0o700)
	}
	testenv.Must(t, err)
	return h, o, exe
}

func TestOpenHome(t *testing.T) {
	h, o, _ := newHome(t, "")
	if h.Path != "/user/etl/.rowtocol" || h.owner != "etl" || o.modes[h.Path] != 0o700 {
		t.Errorf("%s of %s, mode %o", h.Path, h.owner, o.modes[h.Path])
	}
	if infos, err := o.List(t.Context(), h.Path); err != nil || len(infos) != 0 {
		t.Errorf("the directory has %v, %v; want nothing", infos, err)
	}
	o.modes[h.Path] = 0o777
	if _, err := openHome(t.Context(), resolveTo(o), homeLocation); err != nil || o.modes[h.Path] != 0o700 {
		t.Errorf("mode %o, %v", o.modes[h.Path], err)
	}
	o.otherOwners[h.Path] = "mallory"
	if _, err := openHome(t.Context(), resolveTo(o), homeLocation); !errors.Is(err, failure.Refused) || !strings.Contains(err.Error(), "mallory") {
		t.Errorf("another owner: got %v", err)
	}
	if _, err := openHome(t.Context(), resolveTo(memstore.New().Client()), homeLocation); !errors.Is(err, failure.Usage) {
		t.Errorf("a store without owners: %v", err)
	}
	if _, err := openHome(t.Context(), nil, t.TempDir()); !errors.Is(err, failure.Usage) {
		t.Errorf("a local disk: %v", err)
	}
}

func TestHomeThatIsAFile(t *testing.T) {
	h, o, _ := newHome(t, "")
	testenv.Must(t, errors.Join(o.Remove(t.Context(), h.Path), o.WriteFile(t.Context(), h.Path, nil, true)))
	if _, err := openHome(t.Context(), resolveTo(o), homeLocation); !errors.Is(err, failure.Foreign) {
		t.Error(err)
	}
}

func TestProgram(t *testing.T) {
	const text = "a program"
	h, o, exe := newHome(t, text)
	sum := sha256.Sum256([]byte(text))
	want := path.Join(h.Path, "rowtocol-"+hex.EncodeToString(sum[:16]))
	for _, tt := range []struct {
		name    string
		before  func() error
		uploads int
	}{
		{"not there", func() error { return nil }, 1},
		{"there", func() error { return nil }, 0},
		{"truncated", func() error { return o.WriteFile(t.Context(), want, []byte("a pro"), false) }, 1},
		{"another owner", func() error { o.otherOwners[want] = "mallory"; return nil }, 1},
		{"others may write", func() error { o.modes[want] = 0o722; return nil }, 1},
		{"a directory", func() error { return errors.Join(o.Remove(t.Context(), want), o.Mkdir(t.Context(), want)) }, 1},
	} {
		testenv.Must(t, tt.before())
		o.created = nil
		p, err := h.program(t.Context(), exe)
		if err != nil || p != want {
			t.Fatalf("%s: %s, %v, want %s", tt.name, p, err, want)
		}
		delete(o.otherOwners, want)
		got, err := o.ReadFile(t.Context(), p, 100)
		if err != nil || string(got) != text || o.modes[p] != 0o500 {
			t.Errorf("%s: %q, mode %o, %v", tt.name, got, o.modes[p], err)
		}
		if len(o.created) != tt.uploads || slices.Contains(o.created, want) {
			t.Errorf("%s: uploaded as %v, want %d uploads under other names", tt.name, o.created, tt.uploads)
		}
	}
	if _, err := h.program(t.Context(), exe+"x"); !errors.Is(err, failure.Usage) {
		t.Errorf("no program: %v", err)
	}
	if infos, err := o.List(t.Context(), h.Path); err != nil || len(infos) != 1 {
		t.Errorf("left: %v, %v", infos, err)
	}
}

// TestConcurrentUploads checks that many runs can upload the same program at the same time.
func TestConcurrentUploads(t *testing.T) {
	h, o, exe := newHome(t, "a program")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := h.program(t.Context(), exe); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if infos, err := o.List(t.Context(), h.Path); err != nil || len(infos) != 1 {
		t.Errorf("left: %v, %v", infos, err)
	}
}

func TestURI(t *testing.T) {
	h := &home{Location: store.Location{Origin: "hdfs://nn:8020", Path: "/"}}
	if got := h.uri("/user/a b,c#é/x"); got != "hdfs://nn:8020/user/a%20b,c%23%C3%A9/x" {
		t.Error(got)
	}
}
