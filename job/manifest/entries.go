package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Entry is a file or directory that a single rename moves. A part of several files
// is a directory.
type Entry struct {
	Name  string // relative to the directory of the document
	Dir   bool
	Files []File // the file itself, or the files in the directory; their names begin with that of the directory
}

// Entry returns the entry of a part, which must have files.
func (p *Part) Entry() Entry {
	name, _, dir := strings.Cut(p.Files[0].Name, "/")
	return Entry{Name: name, Dir: dir, Files: p.Files}
}

// Inside returns the names of a directory's files, relative to it.
func (e *Entry) Inside() map[string]bool {
	names := make(map[string]bool, len(e.Files))
	for _, f := range e.Files {
		names[path.Base(f.Name)] = true
	}
	return names
}

// Entries returns the entries of the result's files, those of the parts first.
func (r *TaskResult) Entries() []Entry { return entries(r.Parts, r.Losses, r.Side, r.Index) }

// Entries returns the entries of the output's files, those of the parts first.
func (s *Success) Entries() []Entry { return entries(s.Parts, s.Losses, s.Index) }

func entries(parts []Part, losses []Loss, others ...[]File) (all []Entry) {
	for i := range parts {
		if len(parts[i].Files) > 0 {
			all = append(all, parts[i].Entry())
		}
	}
	for _, l := range losses {
		if q := l.Quarantine; q != nil {
			all = append(all, Entry{Name: q.Name, Files: []File{*q}})
		}
	}
	for _, f := range slices.Concat(others...) {
		all = appendFile(all, f)
	}
	return all
}

// appendFile adds a file that belongs to no part. Files in one directory, such as an index of
// several files, are one entry. A staged name of such a file begins with the directory. In a
// published name, the directory follows those of the kind and of the output.
func appendFile(all []Entry, f File) []Entry {
	dir := path.Dir(f.Name)
	if dir == "." || IsAside(path.Dir(path.Dir(f.Name))) {
		return append(all, Entry{Name: f.Name, Files: []File{f}})
	}
	if n := len(all) - 1; n >= 0 && all[n].Dir && all[n].Name == dir {
		all[n].Files = append(all[n].Files, f)
		return all
	}
	return append(all, Entry{Name: dir, Dir: true, Files: []File{f}})
}

// check refuses files that are not in the entry, are listed twice, or have a
// negative size.
func (e *Entry) check() error {
	seen := make(map[string]bool)
	for _, f := range e.Files {
		ok := f.Name == e.Name
		if e.Dir {
			ok = strings.HasPrefix(f.Name, e.Name+"/")
		}
		//guard: rejects a file of another part
		if !ok {
			return fmt.Errorf("%q is a file of another part than %q", f.Name, e.Name)
		}
		//guard: rejects a negative size or a name listed twice
		if f.Bytes < 0 || seen[f.Name] {
			return fmt.Errorf("%q is listed twice, or with %d bytes", f.Name, f.Bytes)
		}
		seen[f.Name] = true
	}
	return nil
}
