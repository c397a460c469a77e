// Command dist makes the files of a release: archives for each system, Debian and RPM
// packages, root file systems for containers, Python wheels, a software bill of materials
// for each program, and checksums. The same commit and the same Go give the same bytes: the
// files do not depend on where, when or by whom they were made.
//
// Usage, in the root of a clone: dist [-o DIR] [-wheel | -targets linux/amd64,...]
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// nfpm makes the packages. It is run in this version, and is not a dependency.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"

func main() {
	out := flag.String("o", "bin/dist", "`directory` of the files; its content is removed first")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "systems to build for")
	wheel := flag.Bool("wheel", false, "make only the wheel of this machine")
	flag.Parse()
	syscall.Umask(0o022) // modes do not depend on the user
	do := func() error { return run(*out, strings.Split(*targets, ",")) }
	if *wheel {
		do = func() error { return onlyWheel(*out) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is a release that is made.
type release struct {
	out     string // directory of the files of the release
	stage   string // directory of the unpacked content of archives and packages
	version string
	time    time.Time // time of the commit and of all files
	began   time.Time
}

// tell prints what dist does from now on.
func (r *release) tell(what string) {
	fmt.Printf("dist: %4.0f s: %s\n", time.Since(r.began).Seconds(), what)
}

// staged makes files of a release in a directory, and removes its content first.
func staged(out string, do func(*release) error) (err error) {
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "rowtocol-dist-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	return do(&release{out: out, stage: stage, began: time.Now()})
}

func run(out string, targets []string) error {
	return staged(out, func(r *release) error {
		if err := r.common(); err != nil {
			return err
		}
		for _, t := range targets {
			system, arch, ok := strings.Cut(t, "/")
			if !ok {
				return fmt.Errorf("%q is not a target, such as linux/amd64", t)
			}
			if err := r.target(system, arch); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
		return r.checksums()
	})
}

// programs are the programs of a release, with the directories of their modules.
var programs = []struct{ name, module, dir string }{
	{"rowtocol", ".", "./cmd/rowtocol"},
	{"rowtocol-iceberg", "cmd/rowtocol-iceberg", "."},
}

// build builds the programs of a system into a directory, for all processors of an
// architecture, independent of the user's flags.
func build(dir, system, arch string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, p := range programs {
		_, err := command([]string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly"},
			"go", "build", "-C", p.module, "-trimpath", "-buildvcs=true", "-ldflags", "-s -w", "-o", filepath.Join(dir, p.name), p.dir)
		if err != nil {
			return err
		}
	}
	return nil
}

// host builds the programs for this machine, and learns the version of the release. It returns
// the path of rowtocol.
func (r *release) host() (program string, err error) {
	host := filepath.Join(r.stage, "host")
	r.tell("builds the programs for this machine")
	if err := build(host, runtime.GOOS, runtime.GOARCH); err != nil {
		return "", err
	}
	program = filepath.Join(host, "rowtocol")
	text, err := command(nil, program, "version", "--json")
	if err != nil {
		return "", err
	}
	return program, r.identify(text)
}

// common stages the files of all archives: documentation, examples, and output of the
// program for this machine.
func (r *release) common() error {
	program, err := r.host()
	if err != nil {
		return err
	}
	if err := r.checkVersion(); err != nil {
		return err
	}
	r.tell("collects documents and licences for " + r.version)
	if err := r.documents(); err != nil {
		return err
	}
	for _, p := range programs {
		if err := r.about(filepath.Join(filepath.Dir(program), p.name), p.module); err != nil {
			return err
		}
	}
	return r.pack()
}

// identify takes version and time from the output of "rowtocol version --json".
func (r *release) identify(text []byte) error {
	var about struct {
		Result struct {
			Version  string
			Time     time.Time
			Modified bool
		}
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return err
	}
	if about.Result.Modified {
		fmt.Println("dist: the clone has changes that are not committed")
	}
	r.version, r.time = strings.TrimPrefix(about.Result.Version, "v"), about.Result.Time
	return nil
}

// checkVersion fails if the programs have no version. Packages need one; a wheel alone does not.
func (r *release) checkVersion() error {
	if r.time.IsZero() {
		return errors.New("the programs have no version, because Go found no git repository: run this in the root of a clone (not of a linked work tree)")
	}
	return nil
}

// about stages the manual pages, the completions and the licences of a program.
func (r *release) about(program, module string) error {
	if err := r.manual(program); err != nil {
		return err
	}
	name := filepath.Base(program)
	for shell, name := range map[string]string{"bash": name, "zsh": "_" + name, "fish": name + ".fish"} {
		script, err := command(nil, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := write(r.shared("completions", shell, name), script, 0o644); err != nil {
			return err
		}
	}
	return r.licences(program, module)
}

// manual stages the manual pages of a program in directories of their sections, as man reads them.
func (r *release) manual(program string) error {
	dir, err := os.MkdirTemp(r.stage, "man-")
	if err != nil {
		return err
	}
	if _, err := command([]string{"TMPDIR=/tmp"}, program, "man", dir); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		section := strings.TrimPrefix(filepath.Ext(name), ".")
		if err := r.share(name, filepath.Join("man", "man"+section, filepath.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// packed returns the directory of files that packages hold compressed.
func (r *release) packed() string { return filepath.Join(r.stage, "packed") }

// pack compresses the manual pages and the list of changes for packages.
func (r *release) pack() error {
	names, err := filepath.Glob(r.shared("man", "*", "*"))
	if err != nil {
		return err
	}
	to := map[string]string{r.shared("CHANGELOG.md"): "changelog.gz"}
	for _, name := range names {
		to[name] = filepath.Base(name) + ".gz"
	}
	for from, name := range to {
		if err := compress(from, filepath.Join(r.packed(), name)); err != nil {
			return err
		}
	}
	return nil
}

// shared returns the staged path of a file of all archives.
func (r *release) shared(names ...string) string {
	return filepath.Join(append([]string{r.stage, "shared"}, names...)...)
}

// target makes all files for one system.
func (r *release) target(system, arch string) error {
	dir := filepath.Join(r.stage, system+"-"+arch)
	r.tell("builds the programs for " + system + "/" + arch)
	if err := build(dir, system, arch); err != nil {
		return err
	}
	suffix := fmt.Sprintf("_%s_%s_%s", r.version, system, arch)
	top := "rowtocol-" + r.version
	files := []source{{r.shared(), top}}
	for _, p := range programs {
		program := filepath.Join(dir, p.name)
		if err := writeSBOM(filepath.Join(r.out, p.name+suffix+".cdx.json"), program, r.version); err != nil {
			return err
		}
		files = append(files, source{program, top + "/" + p.name})
	}
	name := filepath.Join(r.out, "rowtocol"+suffix)
	r.tell("writes the archives, packages and wheel for " + system + "/" + arch)
	if err := r.archive(name+".tar.gz", files); err != nil {
		return err
	}
	if err := r.wheel(filepath.Join(dir, "rowtocol"), system, arch); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	if err := r.root(name+"_root.tar.gz", dir); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		_, err := command([]string{"ARCH=" + arch, "VERSION=" + r.version, "PROGRAMS=" + dir, "SHARED=" + r.shared(), "PACKED=" + r.packed(),
			"SOURCE_DATE_EPOCH=" + fmt.Sprint(r.time.Unix())},
			"go", "run", nfpm, "package", "--config", "packaging/nfpm.yaml", "--packager", kind, "--target", r.out)
		if err != nil {
			return err
		}
	}
	return nil
}

// checksums lists all files in the form that sha256sum -c reads.
func (r *release) checksums() error {
	names, err := filepath.Glob(filepath.Join(r.out, "*")) // sorted
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
	}
	return write(filepath.Join(r.out, "SHA256SUMS"), []byte(list.String()), 0o644)
}

// command runs a program with additional variables, and returns its output.
func command(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, err
}

// write writes a file, and creates its parent directories.
func write(name string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, mode)
}
