package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// builder lists the packages that make wheels.
const builder = "python/build-requirements.txt"

// zipEpoch is the first time that a zip file can hold: 1980-01-01. A program that was not built in
// a clone has no time.
const zipEpoch = 315532800

// platforms names the systems of a release as wheels name them. The program for Linux is static, so
// it runs with any C library.
var platforms = map[string]string{
	"linux/amd64":  "manylinux_2_17_x86_64.musllinux_1_2_x86_64",
	"linux/arm64":  "manylinux_2_17_aarch64.musllinux_1_2_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64",
	"darwin/arm64": "macosx_12_0_arm64",
}

// wheel makes the Python package with a program.
func (r *release) wheel(program, system, arch string) error {
	platform := platforms[system+"/"+arch]
	if platform == "" {
		return fmt.Errorf("there are no wheels for %s/%s", system, arch)
	}
	python, err := wheelBuilder()
	if err != nil {
		return err
	}
	out, err := filepath.Abs(r.out)
	if err != nil {
		return err
	}
	// The archives have the licences of all programs.
	alone := &release{stage: filepath.Join(r.stage, "wheel", system, arch)}
	if err := errors.Join(alone.licences(program, "."), alone.share("LICENSE", "licenses/LICENSE")); err != nil {
		return err
	}
	env := []string{
		"ROWTOCOL_WHEEL_PROGRAM=" + program, "ROWTOCOL_WHEEL_LICENSES=" + alone.shared("licenses"),
		"ROWTOCOL_WHEEL_VERSION=" + pythonVersion(r.version), "ROWTOCOL_WHEEL_PLATFORM=" + platform,
		"SOURCE_DATE_EPOCH=" + fmt.Sprint(max(r.time.Unix(), zipEpoch)), "PYTHONDONTWRITEBYTECODE=1",
	}
	_, err = command(env, "sh", "-c", `cd python && exec "$0" -m hatchling build -t wheel -d "$1"`, python, out)
	return err
}

// onlyWheel makes only the wheel of this machine.
func onlyWheel(out string) error {
	return staged(out, func(r *release) error {
		program, err := r.host()
		if err != nil {
			return err
		}
		return r.wheel(program, runtime.GOOS, runtime.GOARCH)
	})
}

// wheelBuilder returns a Python that has the packages of builder, installed once into the user's
// cache.
func wheelBuilder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	list, err := os.ReadFile(builder)
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, fmt.Sprintf("rowtocol-wheel-%x", sha256.Sum256(list))[:31])
	python := filepath.Join(home, "bin", "python")
	if _, err := os.Stat(filepath.Join(home, "complete")); err == nil {
		return python, nil
	}
	if _, err := command(nil, "python3", "-m", "venv", "--clear", home); err != nil {
		return "", err
	}
	if _, err := command(nil, python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", builder); err != nil {
		return "", err
	}
	return python, write(filepath.Join(home, "complete"), nil, 0o644)
}

var (
	tagged = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-([a-z]+)\.?(\d+))?$`)
	pseudo = regexp.MustCompile(`^(\d+\.\d+\.\d+)-(?:.*\.)?(\d{14})-([0-9a-f]{12})$`)
	commit = regexp.MustCompile(`^[0-9a-f]{12,40}$`)
)

// pythonVersion returns a version of the program as Python writes versions. 1.2.0-rc.1 is 1.2.0rc1,
// and a commit without a version is a development version of 0.0.0.
func pythonVersion(version string) string {
	version, dirty := strings.CutSuffix(version, "+dirty")
	local := ""
	if dirty {
		local = ".dirty"
	}
	if m := pseudo.FindStringSubmatch(version); m != nil {
		return m[1] + ".dev" + m[2] + "+g" + m[3] + local
	}
	if m := tagged.FindStringSubmatch(version); m != nil {
		kind := map[string]string{"": "", "alpha": "a", "beta": "b", "rc": "rc"}
		if k, known := kind[m[2]]; known {
			return m[1] + k + m[3] + strings.Replace(local, ".", "+", 1)
		}
	}
	if commit.MatchString(version) {
		return "0.0.0.dev0+g" + version[:12] + local
	}
	return "0.0.0.dev0" + strings.Replace(local, ".", "+", 1)
}
