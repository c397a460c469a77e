package manifest

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/store"
)

// Key is the key and value in the name key=value of a directory.
type Key struct {
	Name  string
	Value string
	Null  bool // the value is null, and Value empty
}

// noValue is the value null in the name of a directory, as in Hive.
const noValue = "__HIVE_DEFAULT_PARTITION__"

// ParseKey reads the name of a directory. A hidden one has no key.
func ParseKey(dir string) (k Key, ok bool) {
	name, value, ok := strings.Cut(dir, "=")
	if !ok || name == "" || store.Hidden(dir) {
		return k, false
	}
	if k = (Key{Name: unescape(name), Value: unescape(value)}); value == noValue {
		k.Value, k.Null = "", true
	}
	return k, true
}

// unescape decodes %XX. Anything else stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; s != ""; s = s[1:] {
		if s[0] == '%' && len(s) >= 3 {
			if code, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				b, s = append(b, byte(code)), s[2:]
				continue
			}
		}
		b = append(b, s[0])
	}
	return string(b)
}

// HasKey reports whether a directory is named key=value.
func HasKey(info store.Info) bool {
	_, ok := ParseKey(info.Name)
	return ok && info.Dir
}

// Branch is a directory of a tree of directories key=value.
type Branch struct {
	Path string
	// Below is the path below the top of the tree; empty for the top.
	Below string
	// Keys are those of the top and of the directories below it, the outermost first.
	Keys []Key
	// Link is whether its name is a symbolic link. The top's is followed.
	Link bool
}

// Has reports whether a key is in the path.
func (b *Branch) Has(key string) bool {
	return slices.ContainsFunc(b.Keys, func(k Key) bool { return k.Name == key })
}

// Walker walks a tree of directories key=value.
type Walker struct {
	Store store.Store
	// Enter is called with what a directory holds, or why it cannot be listed. It returns the
	// entries that the walk visits, in their order; nil for a directory without partitions.
	Enter func(b Branch, infos []store.Info, err error) ([]store.Info, error)
	// Beside is called for the other entries that are not hidden: those that are not
	// directories key=value and, with twice, those whose key is in the path already. The walk
	// does not enter them.
	Beside func(b Branch, info store.Info, twice bool) error
}

// Walk walks a directory, and those below it.
func (w *Walker) Walk(ctx context.Context, b Branch) error {
	infos, err := w.Store.List(ctx, b.Path)
	infos, err = w.Enter(b, infos, err)
	if err != nil {
		return err
	}
	for _, info := range infos {
		k, ok := ParseKey(info.Name)
		ok = ok && info.Dir
		switch {
		case store.Hidden(info.Name):
		//guard: rejects a link to a directory above
		case ok && b.Has(k.Name):
			err = w.Beside(b, info, true)
		case ok:
			err = w.Walk(ctx, Branch{info.Path, path.Join(b.Below, info.Name), append(slices.Clip(b.Keys), k), info.Link})
		default:
			err = w.Beside(b, info, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
