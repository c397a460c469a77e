package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// maxIndexName bounds the name of a key index, in bytes, so that it may also be a file name
// with a suffix.
const maxIndexName = 100

// IndexName returns the name of the directory of a key index: its fields, with bytes other
// than letters, digits, dots, hyphens and underscores as =XX. A long name is cut and ends
// with a hash of the fields.
func IndexName(fields string) string {
	name := escapeIndexName(fields)
	//guard: shortens a name that file systems would refuse
	if len(name) > maxIndexName {
		hash := sha256.Sum256([]byte(fields))
		end := "==" + hex.EncodeToString(hash[:16])
		name = name[:maxIndexName-len(end)] + end
	}
	return name
}

func escapeIndexName(fields string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(fields) {
		switch c := fields[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', i > 0 && (c == '.' || c == '_'):
			b.WriteByte(c)
		default:
			b.Write([]byte{'=', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// IndexFile returns the name of a file of a key index in its directory. Numbers start at 0,
// and suffix begins with a dot.
func IndexFile(number int, suffix string) string { return fmt.Sprintf("%05d%s", number, suffix) }

// Fingerprint identifies row groups: it returns the SHA-256, in hexadecimal digits, of their
// numbers of rows and of the lengths and checksums of their files. Names and row groups
// without rows do not count, so the results of tasks have the fingerprint of their output.
func Fingerprint(parts []Part) string {
	h := sha256.New()
	for i := range parts {
		p := &parts[i]
		if p.Rows == 0 {
			continue
		}
		fmt.Fprintf(h, "%d %d %d\n", p.Task, p.RowGroup, p.Rows)
		for _, f := range p.Files {
			fmt.Fprintf(h, " %q %d %08x\n", f.Role, f.Bytes, f.CRC32C)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkIndex refuses key indexes that differ from those of the request, or whose keys are
// listed wrongly.
func (s *Success) checkIndex() error {
	files := s.Index
	for _, fields := range s.Request.Options.Index {
		if s.Schema == "" {
			break // there are no rows
		}
		dir := path.Join(IndexDir, s.ID, IndexName(fields))
		n := 0
		for n < len(files) && path.Dir(files[n].Name) == dir {
			n++
		}
		if err := s.checkKeys(fields, files[:n]); err != nil {
			return err
		}
		files = files[n:]
	}
	for _, f := range files {
		//guard: rejects keys of an index that was not requested
		if f.Keys != nil {
			return fmt.Errorf("%q is of an index that was not asked for", f.Name)
		}
	}
	return nil
}

// checkKeys checks that the files of an index are complete and in order.
func (s *Success) checkKeys(fields string, files []File) error {
	//guard: rejects an index without files
	if len(files) == 0 {
		return fmt.Errorf("the index %s is not listed", fields)
	}
	rows := s.Rows
	for i, f := range files {
		k := f.Keys
		//guard: rejects a file with the name of another
		if name := path.Base(f.Name); name != IndexFile(i, path.Ext(name)) || k == nil {
			return fmt.Errorf("%q is listed as file %d of the index %s, or without its keys", f.Name, i, fields)
		}
		//guard: rejects more entries than rows
		if k.Entries < 0 || k.Entries == 0 && len(files) > 1 || k.Entries > rows {
			return fmt.Errorf("%q has %d keys, of an output of %d rows", f.Name, k.Entries, s.Rows)
		}
		rows -= k.Entries
		//guard: rejects ranges that overlap
		if bytes.Compare(k.First, k.Last) > 0 || i > 0 && bytes.Compare(files[i-1].Keys.Last, k.First) > 0 {
			return fmt.Errorf("the keys of %q do not follow those of the file before it", f.Name)
		}
	}
	return nil
}
