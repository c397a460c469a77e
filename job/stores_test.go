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

// localStore is a store that says that it is a local disk, so that one worker runs one
// task at a time.
type localStore struct{ store.Store }

func (localStore) Capabilities() store.Capabilities { return store.Capabilities{Local: true} }

// hidingStore is a store that reports a file as missing.
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

// quotaStore is a store that refuses pending manifests.
type quotaStore struct{ store.Store }

func (s quotaStore) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	if strings.HasPrefix(filepath.Base(p), manifest.PendingName+"-") {
		return syscall.EDQUOT
	}
	return s.Store.WriteFile(ctx, p, b, exclusive)
}

// unreadableStore is a store that cannot read parts.
type unreadableStore struct{ store.Store }

func (s unreadableStore) Open(ctx context.Context, p string) (store.File, error) {
	if strings.Contains(p, "/part-") {
		return nil, syscall.EIO
	}
	return s.Store.Open(ctx, p)
}

// onceHook is a store that calls do before the first Mkdir, Rename or WriteFile
// whose target path contains a text.
type onceHook struct {
	store.Store
	at   string // text in the path
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

// lockLosingStore is a store that moves away the directory of a destination's holder
// while a part is written. The call returns after the holder has noticed it.
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
