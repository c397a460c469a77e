// Command rowtocol converts Avro row files into column files, and reads and checks
// the result. This package only parses the command line, prints, and turns errors
// into exit codes. Other packages do the work.
package main

import (
	"os"

	"github.com/rowtocol/rowtocol/internal/cli"
)

func main() {
	for _, s := range schedulers {
		if s := s(); s.Started() {
			os.Exit(runChild(s, os.Stderr))
		}
	}
	os.Exit(cli.Run(rowtocolProgram, os.Args[1:], os.Stdout, os.Stderr))
}
