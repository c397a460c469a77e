package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// install installs the requirements of the peers, and returns why some are absent. A step
// that was done before takes little time.
func install(ctx context.Context, chosen []peer) (absent map[string]string) {
	absent = map[string]string{}
	step := func(name, program string, args ...string) {
		fmt.Fprintln(os.Stderr, "installing", name)
		if err := command(ctx, ".", program, args...); err != nil {
			absent[name] = err.Error()
		}
	}
	requirements := func(name, file string) {
		step(name, venv+"/bin/pip", "install", "-q", "-r", "python/requirements/"+file+".txt")
	}
	step("python", "python3", "-m", "venv", venv)
	if absent["python"] == "" {
		requirements("python", "base")
	}
	target, err := filepath.Abs(java)
	if err != nil {
		target = java
	}
	done := map[string]bool{"": true, "python": true}
	for _, p := range chosen {
		if done[p.needs] {
			continue
		}
		done[p.needs] = true
		switch p.needs {
		case "go":
			step("go", "go", "build", "-o", cache+"/go/", "./arrow-go", "./parquet-go")
		case "arrow-rs":
			step("arrow-rs", "cargo", "build", "-q", "--release",
				"--manifest-path", "arrow-rs/Cargo.toml", "--target-dir", cache+"/arrow-rs")
		case "java":
			step("java", "mvn", "-B", "-q", "-f", "java/pom.xml", "-Dpeers.target="+target, "compile")
		default:
			requirements(p.needs, p.needs)
		}
	}
	return absent
}
