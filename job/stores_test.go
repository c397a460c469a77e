package job

import (
	"context"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// localStore is a store beside which one worker runs one task at a time, as beside
// a local disk.
type localStore struct{ store.Store }

func (localStore) Capabilities() store.Capabilities { return store.Capabilities{Local: true} }

// hiding is a store that denies that a file is there.
type hidingStore struct {
	store.Store
	name string
}

func (s hidingStore) ReadFile(ctx context.Context, p string, most int64) ([]byte, error) {
	if path.Base(p) == s.name {
		return nil, store.ErrNotExist
	}
	return s.Store.ReadFile(ctx, p, most)
}

// refusing is a store that takes no manifest to be published.
type quotaStore struct{ store.Store }

func (s quotaStore) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	if strings.HasPrefix(filepath.Base(p), manifest.PendingName+"-") {
		return syscall.EDQUOT
	}
	return s.Store.WriteFile(ctx, p, b, exclusive)
}

// unreadable is a store that cannot read parts.
type unreadableStore struct{ store.Store }

func (s unreadableStore) Open(ctx context.Context, p string) (store.File, error) {
	if strings.Contains(p, "/part-") {
		return nil, syscall.EIO
	}
	return s.Store.Open(ctx, p)
}

// meanwhile is a store on which something happens before the first call that
// makes something in a directory, renames to it or writes below it.
type onceHook struct {
	store.Store
	at   string // in the path
	once *sync.Once
	do   func()
}

func callBefore(st store.Store, at string, do func()) onceHook {
	return onceHook{st, at, new(sync.Once), do}
}

func (h onceHook) trigger(p string) {
	if strings.Contains(p, h.at) {
		h.once.Do(h.do)
	}
}

func (h onceHook) Mkdir(ctx context.Context, p string) error {
	h.trigger(p)
	return h.Store.Mkdir(ctx, p)
}

func (h onceHook) Rename(ctx context.Context, from, to string) error {
	h.trigger(to)
	return h.Store.Rename(ctx, from, to)
}

func (h onceHook) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	h.trigger(p)
	return h.Store.WriteFile(ctx, p, b, exclusive)
}

// losing is a store on which the directory of the holder of a destination is
// moved away while a part is written. The call returns once the holder knows.
type lockLosingStore struct{ store.Store }

func (s lockLosingStore) Create(ctx context.Context, p string, _ store.CreateOptions) (store.Writer, error) {
	root := path.Dir(path.Dir(p))
	infos, err := s.List(ctx, root)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.Path != path.Dir(p) {
			if err := s.Rename(ctx, info.Path, path.Join(root, manifest.NewID())); err != nil {
				return nil, err
			}
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}
