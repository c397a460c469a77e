package task

import (
	"context"
	"errors"
	"path"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Intact reports which entries of a directory are intact: their files have the lengths and
// checksums of the entry. With staged, the directory of an entry must hold no other files.
func Intact(ctx context.Context, st store.Store, dir string, entries []manifest.Entry, staged bool) ([]bool, error) {
	w := NewWork(new(manifest.Plan), nil, st, dir)
	if len(entries) == 0 {
		return nil, nil
	}
	if err := w.list(ctx); err != nil {
		return nil, err
	}
	sound := make([]bool, len(entries))
	return sound, parallel.Do(ctx, len(entries), cap(w.slots), func(ctx context.Context, i int) (err error) {
		if staged {
			err = w.checkEntry(ctx, entries[i])
		} else {
			err = w.checkFiles(ctx, entries[i], nil)
		}
		sound[i] = err == nil
		//guard: reports a lost or changed file as not intact, not as an error
		if store.Absent(err) || errors.Is(err, failure.Foreign) {
			return nil
		}
		return err
	})
}

// checkEntry requires that a file, or a directory with its files, is what its task wrote.
func (w *Work) checkEntry(ctx context.Context, e manifest.Entry) error {
	var inside map[string]store.Info
	if e.Dir {
		var err error
		if inside, err = w.checkDirectory(ctx, e); err != nil {
			return err
		}
	}
	return w.checkFiles(ctx, e, inside)
}

// checkFiles requires that a file, or each file of a directory, has the bytes that its task
// wrote. inside are the files that were found in the directory, by name.
func (w *Work) checkFiles(ctx context.Context, e manifest.Entry, inside map[string]store.Info) error {
	return parallel.Do(ctx, len(e.Files), cap(w.slots), func(ctx context.Context, i int) error {
		w.slots <- struct{}{}
		defer func() { <-w.slots }()
		f := e.Files[i]
		info, there := inside[path.Base(f.Name)]
		if !there {
			var err error
			if info, err = w.stat(ctx, f.Name); err != nil {
				return err
			}
		}
		return w.checkFile(ctx, info, f)
	})
}

// checkFile requires that a file has the bytes that its task wrote.
func (w *Work) checkFile(ctx context.Context, info store.Info, f manifest.File) error {
	//guard: rejects a link in place of a file
	if info.Link {
		return failure.New(failure.Foreign, "%s is a link", info.Path)
	}
	if checksumMatches(ctx, w.st, info, f) {
		return nil
	}
	at := path.Join(w.dir, f.Name)
	size, crc, err := store.Sum(ctx, w.st, at, f.Bytes)
	if err != nil {
		return err
	}
	//guard: rejects a file that changed
	if size != f.Bytes || crc != f.CRC32C {
		return failure.New(failure.Foreign, "%s is not the file of %d bytes with CRC-32C %08x that the task wrote", at, f.Bytes, f.CRC32C)
	}
	return nil
}

// checkDirectory requires that the directory of a part holds only the part's files, because the
// directory will be moved as a whole. It returns the files in the directory, by name.
func (w *Work) checkDirectory(ctx context.Context, part manifest.Entry) (map[string]store.Info, error) {
	at := path.Join(w.dir, part.Name)
	info, err := w.stat(ctx, part.Name)
	if err != nil {
		return nil, err
	}
	//guard: rejects a link in place of a directory
	if info.Link {
		return nil, failure.New(failure.Foreign, "%s is a link", at)
	}
	//guard: rejects a file in place of a directory
	if !info.Dir {
		return nil, failure.New(failure.Foreign, "%s is not a directory", at)
	}
	infos, err := w.st.List(ctx, at)
	if err != nil {
		return nil, err
	}
	names, inside := part.Inside(), make(map[string]store.Info, len(infos))
	for _, info := range infos {
		//guard: rejects a file that no task made
		if !names[info.Name] {
			return nil, failure.New(failure.Foreign, "%s is not a file of the part", info.Path)
		}
		inside[info.Name] = info
	}
	w.listings.Store(part.Name, hashListing(infos))
	return inside, nil
}

// checksumMatches reports whether a file has the same length and the same checksum of the storage
// as when its task read it back. If not, the caller must read the file to check it.
func checksumMatches(ctx context.Context, st store.Store, now store.Info, f manifest.File) bool {
	checksum := store.CapabilitiesOf(st).Checksum
	if checksum == nil || f.StoreChecksum == "" {
		return false
	}
	//guard: rejects a file of another length
	if now.Size != f.Bytes {
		return false
	}
	sum, _ := checksum(ctx, now.Path) // empty after an error
	//guard: rejects a file that changed
	if sum != f.StoreChecksum {
		return false
	}
	return true
}
