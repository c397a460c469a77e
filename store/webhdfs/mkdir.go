package webhdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/rowtocol/rowtocol/store"
)

const dirPerm = 0o777

// Mkdir implements store.Store.
//
// The only operation that makes a directory makes its parents, too. If delayed, it would make a
// parent again that another process has moved away. So Mkdir makes the directory next to its
// parent, under a temporary name, and then renames it to its place. The rename fails if the
// parent is gone.
//
// That is not possible if the user may not write next to the parent, if the directory would get
// another group or access control list than in its parent, or if an encryption zone begins
// between them. Then Mkdir checks the parent and makes the directory directly in its place. If
// the parent is moved away in between, the parent is made again.
func (s *Store) Mkdir(ctx context.Context, p string) error {
	return store.PathError("mkdir", p, s.mkdir(ctx, path.Clean(p)))
}

func (s *Store) mkdir(ctx context.Context, p string) error {
	parent, err := s.parent(ctx, p)
	if err != nil {
		return err
	}
	//guard: reports a directory that existed before
	if err := s.checkVacant(ctx, p); err != nil {
		return err
	}
	dir := path.Dir(p)
	same := path.Dir(dir) == dir // the root has no parent
	if !same {
		if same, err = s.inheritsSame(ctx, dir, parent); err != nil {
			return err
		}
	}
	if same {
		err = s.mkdirByRename(ctx, p)
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EXDEV) {
			return err
		}
	}
	return s.askMkdirs(ctx, p)
}

// mkdirByRename makes a directory next to its parent and moves it to its place.
func (s *Store) mkdirByRename(ctx context.Context, p string) error {
	temp := store.TempName(path.Join(path.Dir(path.Dir(p)), path.Base(p)))
	err := s.askMkdirs(ctx, temp)
	if err == nil {
		err = s.rename(ctx, temp, p)
	}
	if errors.Is(err, store.ErrNotExist) {
		// The directory above was moved away or emptied.
		_, gone := s.parent(ctx, p)
		err = cmp.Or(gone, fmt.Errorf("%s is gone: %w", temp, store.ErrUnavailable))
	}
	//guard: removes a directory that was not renamed
	if err != nil {
		cleanup, cancel := store.Cleanup(ctx)
		defer cancel()
		_, _ = s.delete(cleanup, temp, false) // if this fails, the directory stays
	}
	return err
}

// askMkdirs makes a directory and its parents.
func (s *Store) askMkdirs(ctx context.Context, p string) error {
	var answer struct{ Boolean bool }
	err := s.callJSON(ctx, call{method: http.MethodPut, op: "MKDIRS", path: p, once: true, query: map[string]string{
		"permission":         mode(dirPerm &^ s.conf.Umask()),
		"unmaskedpermission": mode(dirPerm),
	}}, maxAnswer, &answer)
	//guard: rejects an answer that no directory was made
	if err == nil && !answer.Boolean {
		err = fmt.Errorf("refused without a reason: %w", store.ErrUnavailable)
	}
	return err
}

// inheritsSame reports whether a new directory gets the same group and access control list in
// dir as in the parent of dir. st is the status of dir. The result is false if the user may not
// read group and list.
func (s *Store) inheritsSame(ctx context.Context, dir string, st status) (bool, error) {
	above, err := s.status(ctx, path.Dir(dir))
	var lists [2][]string
	if err == nil && (st.ACLBit || above.ACLBit) {
		lists[0], err = s.defaultACL(ctx, dir)
		if err == nil {
			lists[1], err = s.defaultACL(ctx, path.Dir(dir))
		}
	}
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = nil
		}
		return false, err
	}
	return st.Group == above.Group && slices.Equal(lists[0], lists[1]), nil
}

// defaultACL returns the part of a directory's access control list that new names in it
// inherit.
func (s *Store) defaultACL(ctx context.Context, dir string) ([]string, error) {
	var answer struct {
		ACLStatus struct{ Entries []string } `json:"AclStatus"`
	}
	err := s.callJSON(ctx, call{method: http.MethodGet, op: "GETACLSTATUS", path: dir}, maxAnswer, &answer)
	list := slices.DeleteFunc(answer.ACLStatus.Entries, func(entry string) bool {
		return !strings.HasPrefix(entry, "default:")
	})
	slices.Sort(list)
	return list, err
}
