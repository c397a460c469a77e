// Package maven has Maven fetch and build other people's software, once for all processes of
// tests.
package maven

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Lock waits until no other process holds the lock file of a build directory. It makes the directory
// if it is missing.
func Lock(target string) (unlock func(), err error) {
	if err := os.MkdirAll(target, 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(target, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}

// Build runs Maven on the pom in home with flags, unless it did so after the last change of
// the pom and the sources next to it. Maven fills the directories products of target. The
// caller holds the lock of target.
func Build(home, target string, products []string, flags ...string) error {
	built := filepath.Join(target, "built")
	if newer(built, home) {
		return nil
	}
	for _, stale := range products {
		if err := os.RemoveAll(filepath.Join(target, stale)); err != nil {
			return err
		}
	}
	mvn := exec.Command("mvn", append([]string{"-B", "-q", "-f", filepath.Join(home, "pom.xml"), "compile"}, flags...)...)
	if out, err := mvn.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn compile: %w\n%s", err, out[max(0, len(out)-4000):])
	}
	return os.WriteFile(built, nil, 0o666)
}

// newer reports whether file is newer than all sources under home.
func newer(file, home string) bool {
	stamp, err := os.Stat(file)
	if err != nil {
		return false
	}
	sources, _ := filepath.Glob(filepath.Join(home, "src", "*.java"))
	conf, _ := filepath.Glob(filepath.Join(home, "conf", "*"))
	for _, source := range append(append(sources, conf...), filepath.Join(home, "pom.xml")) {
		if info, err := os.Stat(source); err != nil || info.ModTime().After(stamp.ModTime()) {
			return false
		}
	}
	return true
}
