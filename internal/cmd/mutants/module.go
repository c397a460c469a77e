package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the module of the working directory.
type module struct{ root string }

func openModule(ctx context.Context) (*module, error) {
	out, err := goCommand(ctx, "", os.TempDir(), "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	return &module{root: strings.TrimSpace(string(out))}, nil
}

func (m *module) relative(path string) string {
	name, err := filepath.Rel(m.root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

// goPackage is the output of go list for a package.
type goPackage struct {
	Dir      string
	GoFiles  []string
	CgoFiles []string
}

// list expands package patterns, relative to the working directory. Without patterns it
// lists the whole module.
func (m *module) list(ctx context.Context, patterns []string) ([]goPackage, error) {
	dir := ""
	if len(patterns) == 0 {
		dir, patterns = m.root, []string{"./..."}
	}
	out, err := goCommand(ctx, dir, os.TempDir(), append([]string{"list", "-json=Dir,GoFiles,CgoFiles", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// goCommand runs the go command in dir, and returns its output. temp is for temporary
// files, some of which remain when ctx ends. The error ends with the command's messages.
// A pattern that matches no packages is an error, too.
func goCommand(ctx context.Context, dir, temp string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temp)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil && bytes.Contains(stderr.Bytes(), []byte("matched no packages")) {
		err = errors.New("a pattern matches nothing")
	}
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
