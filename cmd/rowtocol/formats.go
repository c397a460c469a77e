package main

import (
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/trevni"
)

// formats are the column formats that the program knows; the first is the
// default.
var formats = format.Registry{trevni.Format, cfile.Format, hfile.Format}
