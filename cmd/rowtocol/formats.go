package main

import (
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/trevni"
)

// formats lists the known column formats; the first is the default.
var formats = format.Registry{trevni.Format, cfile.Format, hfile.Format, parquet.Format}
