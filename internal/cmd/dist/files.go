package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// documents stages the files of the repository that users read, and the sample of the tutorial.
func (r *release) documents() error {
	for _, pattern := range []string{"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*", "docs/images/*", "configs/*", "configs/hadoop/*", "testdata/mail/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.IsDir() || path.Ext(name) == ".go" {
				continue
			}
			if err := r.share(name, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// share stages a copy of a file for all archives.
func (r *release) share(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(r.shared(to), data, 0o644)
}

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([._-].*)?$`)

// licences stages the licences of Go and of each module in the program of a module.
func (r *release) licences(program, module string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	dirs, err := command(nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	if err := r.licencesOf("go", strings.TrimSpace(string(dirs))); err != nil {
		return err
	}
	for _, m := range info.Deps {
		dir, err := command(nil, "go", "-C", module, "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return err
		}
		if err := r.licencesOf(m.Path, strings.TrimSpace(string(dir))); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) licencesOf(module, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licence.MatchString(e.Name()) {
			continue
		}
		found = true
		if err := r.share(filepath.Join(dir, e.Name()), filepath.Join("licenses", module, e.Name())); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("module %s has no licence", module)
	}
	return nil
}

// compress writes a compressed copy of a file, which depends on the content of the file only.
func compress(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = zip.Write(data)
	if err := errors.Join(err, zip.Close()); err != nil {
		return err
	}
	return write(to, packed.Bytes(), 0o644)
}

// source is a file or a directory and its name in an archive.
type source struct{ name, as string }

// archive writes a tar.gz whose entries have no owner and the time of the commit.
func (r *release) archive(name string, files []source) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(zip)
	for _, file := range files {
		err := filepath.WalkDir(file.name, func(at string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(file.name, at)
			if err != nil {
				return err
			}
			return r.entry(t, at, path.Join(file.as, filepath.ToSlash(rel)), d)
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), zip.Close())
}

func (r *release) entry(t *tar.Writer, at, as string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: as, ModTime: r.time, Mode: 0o644, Typeflag: tar.TypeReg, Size: info.Size()}
	var data []byte
	switch {
	case as == ".": // the container has its own root directory
		return nil
	case d.IsDir():
		h.Name, h.Typeflag, h.Size, h.Mode = as+"/", tar.TypeDir, 0, 0o755
		if info.Mode()&fs.ModeSticky != 0 {
			h.Mode = 0o1777
		}
	default:
		if info.Mode()&0o100 != 0 {
			h.Mode = 0o755
		}
		if data, err = os.ReadFile(at); err != nil {
			return err
		}
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.Write(data)
	return err
}

// root writes the root file system of a container: the programs in a directory, a user
// other than root, a directory for temporary files, and licences.
func (r *release) root(name, from string) error {
	dir := filepath.Join(from, "root")
	for _, p := range programs {
		data, err := os.ReadFile(filepath.Join(from, p.name))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, "usr/bin", p.name), data, 0o755); err != nil {
			return err
		}
	}
	err := errors.Join(
		write(filepath.Join(dir, "etc/passwd"), []byte("root:x:0:0:root:/:/sbin/nologin\nrowtocol:x:65532:65532:rowtocol:/tmp:/sbin/nologin\n"), 0o644),
		write(filepath.Join(dir, "etc/group"), []byte("root:x:0:\nrowtocol:x:65532:\n"), 0o644),
		os.MkdirAll(filepath.Join(dir, "tmp"), 0o777),
		os.Chmod(filepath.Join(dir, "tmp"), 0o777|fs.ModeSticky),
	)
	if err != nil {
		return err
	}
	return r.archive(name, []source{{dir, "."}, {r.shared("LICENSE"), "usr/share/doc/rowtocol/LICENSE"}, {r.shared("licenses"), "usr/share/doc/rowtocol/licenses"}})
}
