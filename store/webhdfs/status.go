package webhdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// maxListing is the most bytes of an answer that lists a directory.
const maxListing = 256 << 20

// status describes a file or directory, as the name node reports it.
type status struct {
	PathSuffix       string
	Type             string
	Length           int64
	BlockSize        int64
	ModificationTime int64
	FileID           uint64
	ECPolicy         string
	ECBit            bool
	ACLBit           bool
	Group            string
}

func (st status) dir() bool { return st.Type == "DIRECTORY" }

func (st status) erasureCoded() bool { return st.ECBit || st.ECPolicy != "" }

func (st status) valid() bool { return st.Type != "" && st.Length >= 0 && st.BlockSize >= 0 }

func (st status) info(p string) store.Info {
	i := store.Info{Name: path.Base(p), Path: p, Dir: st.dir(), ModTime: time.UnixMilli(st.ModificationTime), FileID: st.FileID}
	if !i.Dir {
		i.Size = st.Length
	}
	return i
}

// invalidAnswer returns the error of an invalid answer.
func invalidAnswer(what string) error {
	return fmt.Errorf("the name node answers with %s: %w", what, store.ErrUnavailable)
}

func (s *Store) status(ctx context.Context, p string) (status, error) {
	var answer struct{ FileStatus status }
	err := s.callJSON(ctx, call{method: http.MethodGet, op: "GETFILESTATUS", path: p}, maxAnswer, &answer)
	//guard: rejects a malformed status
	if err == nil && !answer.FileStatus.valid() {
		err = invalidAnswer("no status")
	}
	return answer.FileStatus, err
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, p string) (store.Info, error) {
	st, err := s.status(ctx, p)
	if err != nil {
		return store.Info{}, store.PathError("stat", p, err)
	}
	return st.info(p), nil
}

// parent describes the directory of p. It returns an error if there is no such directory.
func (s *Store) parent(ctx context.Context, p string) (status, error) {
	dir := path.Dir(p)
	st, err := s.status(ctx, dir)
	switch {
	case errors.Is(err, store.ErrNotExist):
		err = store.ErrNoParent
	case err == nil && !st.dir():
		err = fmt.Errorf("%s: %w", dir, store.ErrNotRegular)
	}
	return st, err
}

// checkVacant returns ErrExist if something has the name.
func (s *Store) checkVacant(ctx context.Context, p string) error {
	_, err := s.status(ctx, p)
	switch {
	case err == nil:
		return store.ErrExist
	case errors.Is(err, store.ErrNotExist):
		return nil
	}
	return err
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) ([]store.Info, error) {
	statuses, err := s.list(ctx, dir)
	if err != nil {
		return nil, store.PathError("list", dir, err)
	}
	infos := make([]store.Info, 0, len(statuses))
	for _, st := range statuses {
		infos = append(infos, st.info(path.Join(dir, st.PathSuffix)))
	}
	slices.SortFunc(infos, func(a, b store.Info) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// list reads a directory page by page. If the server has no pages, or if each page starts at
// the beginning, it reads the directory as a whole.
func (s *Store) list(ctx context.Context, dir string) ([]status, error) {
	var all []status
	listing := cluster.NewListing(s.silence)
	for last := ""; ; {
		began := time.Now()
		var answer struct {
			DirectoryListing struct {
				PartialListing struct {
					FileStatuses struct{ FileStatus []status }
				}
				RemainingEntries int64
			}
		}
		c := call{method: http.MethodGet, op: "LISTSTATUS_BATCH", path: dir, query: map[string]string{"startafter": last}}
		err := s.callJSON(ctx, c, maxListing, &answer)
		if isUnknownOperation(err) {
			return s.listWhole(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
		page := answer.DirectoryListing.PartialListing.FileStatuses.FileStatus
		//guard: rejects a name that leads out of its directory
		if err := checkListing(page); err != nil {
			return nil, err
		}
		for _, st := range page {
			//guard: reads the whole listing if a page goes back
			if last != "" && st.PathSuffix <= last {
				return s.listWhole(ctx, dir)
			}
		}
		all = append(all, page...)
		for _, st := range page {
			listing.Add(st.PathSuffix)
		}
		if err := listing.Page(time.Since(began)); err != nil {
			return nil, err
		}
		if answer.DirectoryListing.RemainingEntries <= 0 {
			return all, nil
		}
		//guard: rejects an empty page that is not the last
		if len(page) == 0 {
			return nil, invalidAnswer("an empty page of a listing that goes on")
		}
		last = page[len(page)-1].PathSuffix
	}
}

func (s *Store) listWhole(ctx context.Context, dir string) ([]status, error) {
	var answer struct {
		FileStatuses struct{ FileStatus []status }
	}
	err := s.callJSON(ctx, call{method: http.MethodGet, op: "LISTSTATUS", path: dir}, maxListing, &answer)
	//guard: rejects a name that leads out of its directory
	if err == nil {
		err = checkListing(answer.FileStatuses.FileStatus)
	}
	return answer.FileStatuses.FileStatus, err
}

// checkListing checks the names of a listing, which become paths.
func checkListing(statuses []status) error {
	for _, st := range statuses {
		switch {
		//guard: rejects the listing of a file
		case st.PathSuffix == "" && !st.dir():
			return fmt.Errorf("not a directory: %w", store.ErrNotRegular)
		//guard: rejects a negative length
		case !st.valid():
			return invalidAnswer("an entry without a status")
		}
		if err := cluster.CheckName(st.PathSuffix); err != nil {
			return err
		}
	}
	return nil
}

// isUnknownOperation reports whether a server is too old for an operation.
func isUnknownOperation(err error) bool {
	remote, ok := asRemote(err)
	if !ok {
		return false
	}
	switch remote.Name() {
	case "IllegalArgumentException", "UnsupportedOperationException", "QueryParamException":
		return true
	}
	return false
}

// blocks describes a file's blocks, as the name node reports them.
type blocks struct {
	FileLength          int64
	IsUnderConstruction bool
	IsLastBlockComplete bool
	LocatedBlocks       []struct{}
}

// complete reports whether the file is closed, and its blocks as well.
func (b *blocks) complete() bool {
	return !b.IsUnderConstruction && (b.IsLastBlockComplete || len(b.LocatedBlocks) == 0)
}

// blocks describes the blocks from an offset on. It is nil if the server does not report them.
func (s *Store) blocks(ctx context.Context, p string, off int64) (*blocks, error) {
	var answer struct{ LocatedBlocks *blocks }
	c := call{method: http.MethodGet, op: "GET_BLOCK_LOCATIONS", path: p, query: map[string]string{
		"offset": strconv.FormatInt(off, 10),
		"length": strconv.FormatInt(math.MaxInt64-off, 10),
	}}
	err := s.callJSON(ctx, c, maxAnswer, &answer)
	if isUnknownOperation(err) {
		return nil, nil
	}
	return answer.LocatedBlocks, err
}
