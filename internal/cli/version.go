package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Build describes how the program was built.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"` // time of the commit
	Modified bool   `json:"modified"`       // the source had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readBuild returns the build information that the Go command wrote into the program. A
// program that was not built in a clone has no commit.
func readBuild() Build {
	b := Build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	} else if b.Commit != "" {
		b.Version = b.Commit
	}
	return b
}

// Version returns the module version or the commit that the program was built from.
func Version() string { return readBuild().Version }

func newVersionCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version, commit and platform",
		Args:  a.Takes(cobra.NoArgs),
		RunE:  func(*cobra.Command, []string) error { a.printVersion(); return nil },
	}
}

func (a *App) printVersion() {
	b := readBuild()
	a.Result = b
	if a.JSON {
		return
	}
	commit := b.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case b.Modified:
		commit += ", modified"
	}
	a.Printf("%s %s\ncommit   %s\ngo       %s\nplatform %s\n", a.program.Name, b.Version, commit, b.Go, b.Platform)
}
