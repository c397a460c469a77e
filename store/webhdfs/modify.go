package webhdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"syscall"

	"github.com/rowtocol/rowtocol/store"
)

// The values of Store.renames say whether the server obeys the options of a rename. HttpFS
// ignores them.
const (
	renamesUnknown = iota
	renamesExact
	renamesLoose
)

// Rename implements store.Store.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	return store.PathError("rename", from+" to "+to, s.rename(ctx, from, to))
}

func (s *Store) rename(ctx context.Context, from, to string) error {
	var id uint64
	if s.renames.Load() != renamesExact {
		st, err := s.status(ctx, from)
		if err != nil {
			return err
		}
		id = st.FileID
		//guard: refuses to replace a file
		if err := s.checkVacant(ctx, to); err != nil {
			return err
		}
	}
	renamed, err := s.askRename(ctx, from, to, "NONE")
	switch {
	case err != nil:
		return s.renameError(ctx, to, err)
	case !renamed:
		return s.refusalReason(ctx, from, to)
	//guard: rejects a rename that HttpFS made below a directory
	case s.renames.Load() == renamesLoose && id != 0:
		return s.revertRenameInto(ctx, from, to, id)
	}
	return nil
}

// askRename asks for a rename and returns whether it was done.
func (s *Store) askRename(ctx context.Context, from, to, option string) (bool, error) {
	c := call{method: http.MethodPut, op: "RENAME", path: from, once: true,
		query: map[string]string{"destination": to, "renameoptions": option}}
	var answer struct{ Boolean bool }
	err := s.callJSON(ctx, c, maxAnswer, &answer)
	switch {
	case errors.Is(err, errEmpty):
		// The answer to a successful rename with options is empty.
		s.renames.Store(renamesExact)
		return true, nil
	case err != nil:
		return false, err
	}
	s.renames.Store(renamesLoose)
	return answer.Boolean, nil
}

// renameError returns the error of a refused rename. If the new name exists, that is ErrExist.
// The server may report another error, because it first checks that both are files or both are
// directories.
func (s *Store) renameError(ctx context.Context, to string, err error) error {
	if _, ok := asRemote(err); ok && store.Classify(err) == store.Retryable {
		if _, there := s.status(ctx, to); there == nil {
			return store.ErrExist
		}
	}
	return err
}

// refusalReason finds out why a rename was refused.
func (s *Store) refusalReason(ctx context.Context, from, to string) error {
	if _, err := s.status(ctx, from); err != nil {
		return err
	}
	if err := s.checkVacant(ctx, to); err != nil {
		return err
	}
	if _, err := s.parent(ctx, to); err != nil {
		return err
	}
	if strings.HasPrefix(to, from+"/") {
		return syscall.EINVAL
	}
	return fmt.Errorf("refused without a reason: %w", store.ErrUnavailable)
}

// revertRenameInto reverts a rename that moved from into the directory to, and returns ErrExist.
// It returns nil if the rename was right.
func (s *Store) revertRenameInto(ctx context.Context, from, to string, id uint64) error {
	st, err := s.status(ctx, to)
	if err != nil {
		return err
	}
	if st.FileID == id {
		return nil
	}
	if _, err := s.askRename(ctx, path.Join(to, path.Base(from)), from, "NONE"); err != nil {
		return err
	}
	return store.ErrExist
}

// delete removes a path, and reports whether it was there.
func (s *Store) delete(ctx context.Context, p string, recursive bool) (bool, error) {
	var answer struct{ Boolean bool }
	c := call{method: http.MethodDelete, op: "DELETE", path: p, once: true,
		query: map[string]string{"recursive": fmt.Sprint(recursive)}}
	err := s.callJSON(ctx, c, maxAnswer, &answer)
	return answer.Boolean, err
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, p string) error {
	there, err := s.delete(ctx, p, false)
	//guard: reports that the file was removed earlier
	if err == nil && !there {
		err = store.ErrNotExist
	}
	return store.PathError("remove", p, err)
}

// RemoveAll implements store.Store.
func (s *Store) RemoveAll(ctx context.Context, p string) error {
	_, err := s.delete(ctx, p, true)
	return store.PathError("remove", p, err)
}

// WriteFile implements store.Store.
func (s *Store) WriteFile(ctx context.Context, p string, data []byte, exclusive bool) error {
	return store.WriteByRename(ctx, s, p, data, func(temp string) error {
		if exclusive {
			return s.rename(ctx, temp, p)
		}
		kept, err := s.replace(ctx, temp, p, data)
		if err == nil && !kept {
			cleanup, cancel := store.Cleanup(ctx)
			defer cancel()
			_, _ = s.delete(cleanup, temp, false) // if this fails, the file stays
		}
		return err
	})
}

// replace renames a file with data to its final name. If a rename cannot replace a file, replace
// overwrites the file with the data, and returns false.
func (s *Store) replace(ctx context.Context, temp, p string, data []byte) (bool, error) {
	if s.renames.Load() == renamesLoose {
		// HttpFS would move the file into a directory that has the name.
		switch st, err := s.status(ctx, p); {
		//guard: refuses to move a file below a directory
		case err == nil && st.dir():
			return false, store.ErrNotRegular
		case err == nil:
			return false, s.overwrite(ctx, p, data)
		case !errors.Is(err, store.ErrNotExist):
			return false, err
		}
	}
	renamed, err := s.askRename(ctx, temp, p, "OVERWRITE")
	if err != nil || renamed {
		return true, err
	}
	return false, s.overwrite(ctx, p, data)
}

// overwrite writes a small file over one that exists.
func (s *Store) overwrite(ctx context.Context, p string, data []byte) error {
	size := int64(len(data))
	err := s.dispatch(ctx, s.creation(p, s.blockSize.For(size, 0), true), func(to *url.URL, resp *http.Response) (fault, error) {
		if to == nil {
			finish(resp)
			return nodeNotAtFault, invalidAnswer("no data node")
		}
		err := s.sendFile(ctx, to.String(), &content{io.NopCloser(bytes.NewReader(data)), size})
		return classifyFault(err), err
	})
	if err != nil {
		return err
	}
	return s.waitUntilStored(ctx, p, size, true)
}
