package manifest

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/store"
)

// Key is the key and the value of a directory named key=value.
type Key struct {
	Name  string
	Value string
	Null  bool // the value is null, and Value empty
}

// noValue stands for null in the name of a directory, as in Hive.
const noValue = "__HIVE_DEFAULT_PARTITION__"

// ParseKey parses the name of a directory. A hidden directory has no key.
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

// unescape decodes %XX and keeps everything else.
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
	// Keys are the keys of the directories in the path, the outermost first.
	Keys []Key
	// Link is whether the directory is a symbolic link; false for the top.
	Link bool
}

// Has reports whether a key is in the path.
func (b *Branch) Has(key string) bool {
	return slices.ContainsFunc(b.Keys, func(k Key) bool { return k.Name == key })
}

// Walker walks a tree of directories key=value.
type Walker struct {
	Store store.Store
	// Enter is called with the entries of a directory, or with the error of listing it. It
	// returns the entries to visit, in order; nil for a directory without partitions.
	Enter func(b Branch, infos []store.Info, err error) ([]store.Info, error)
	// Other is called for entries that are not hidden and that the walk does not enter. twice is
	// true for a directory key=value whose key is in the path already, and false for an entry
	// that is not a directory key=value.
	Other func(b Branch, info store.Info, twice bool) error
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
		//guard: does not enter a directory whose key is in the path already
		case ok && b.Has(k.Name):
			err = w.Other(b, info, true)
		case ok:
			err = w.Walk(ctx, Branch{info.Path, path.Join(b.Below, info.Name), append(slices.Clip(b.Keys), k), info.Link})
		default:
			err = w.Other(b, info, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
