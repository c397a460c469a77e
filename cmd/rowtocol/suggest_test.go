package main

import (
	"strings"
	"testing"
)

// TestSuggestions checks that mistyped words are refused with a suggestion, and wrong values
// with their source.
func TestSuggestions(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	write(t, dir+"/key.yaml", []byte("codec: snappy\nrow-group-siz: 1MiB\n"))
	write(t, dir+"/small.yaml", []byte("# little\nmemory: 1MiB\n"))
	write(t, dir+"/sort.yaml", []byte("sort: size\n"))
	cases := []struct{ args, env, text string }{
		{"konvert a.avro new", "", "did you mean convert?"},
		{"verfiy out", "", "did you mean verify?"},
		{"insp out", "", "did you mean inspect?"},
		{"zzzzzz out", "", `no command "zzzzzz" (see`},
		{"cat --limt 1 out", "", "did you mean --limit?"},
		{"convert --colunm-codec x a.avro new", "", "unknown flag: --colunm-codec (see"},
		{"convert --row-groupsize 1MiB a.avro new", "", "did you mean --row-group-size?"},
		{"cat --to jsno out", "", "did you mean json?"},
		{"cat --to JSON out", "", "did you mean json?"},
		{"cat --output-codec snapy out", "", "did you mean snappy?"},
		{"convert --codec snapy a.avro new", "", "did you mean snappy?"},
		{"convert --codec id=deflat a.avro new", "", "did you mean deflate?"},
		{"convert --codec id=null --codec id=snappy a.avro new", "", `--codec "id=null" and "id=snappy" contradict each other`},
		{"convert --format cfile --compression lz4 --compression none a.avro new", "", `--compression "lz4" and "none" contradict each other`},
		{"convert --format parquet --encoding id=plain --encoding id=dictionary a.avro new", "", `--encoding "id=plain" and "id=dictionary" contradict each other`},
		{"convert --format trevny a.avro new", "", "did you mean trevni?"},
		{"convert --on-damage quarantin a.avro new", "", "did you mean quarantine?"},
		{"inspect --sort stord out", "", "did you mean stored?"},
		{"cat --log-level wran out", "", "did you mean warn?"},
		{"convert --memory 64mb a.avro new", "", `"64mb" is not a size; write 64MiB`},
		{"convert --memory 1.5g a.avro new", "", "write 1.5GiB"},
		{"cat out", "ROWTOCOL_MEMROY=1GiB", "environment variable ROWTOCOL_MEMROY: rowtocol has no such flag; did you mean ROWTOCOL_MEMORY?"},
		{"cat out", "ROWTOCOL_E2E=required", "environment variable ROWTOCOL_E2E: rowtocol has no such flag"},
		{"convert --config key.yaml a.avro new", "", `key.yaml:2: "row-group-siz" is not a flag of rowtocol; did you mean row-group-size?`},
		{"cat --memory 1MiB out", "", "--memory must be at least 16MiB (--memory 1MiB was given)"},
		{"cat out", "ROWTOCOL_MEMORY=2MiB", "--memory must be at least 16MiB (ROWTOCOL_MEMORY is 2MiB)"},
		{"convert --format parquet a.avro out", "ROWTOCOL_INVALID_UTF8=x", `--invalid-utf8 "x" is not one of refuse, replace (ROWTOCOL_INVALID_UTF8 is x)`},
		{"cat --config small.yaml out", "", "--memory must be at least 16MiB (small.yaml:2: memory is 1MiB)"},
		{"inspect --config sort.yaml out", "", "(sort.yaml:1: sort is size)"},
		{"cat --workers -3 out", "", "--workers must be at least 1 (--workers -3 was given)"},
		{"cat --to jsno out", "", "did you mean json?"},
		{"cat out", "ROWTOCOL_WORKERS=many", `ROWTOCOL_WORKERS: "many" is not a whole number`},
		{"cat out", "ROWTOCOL_VERSION=true", `ROWTOCOL_VERSION: rowtocol has no such flag"`},
		{"cat --workers 1e9 out", "", `--workers: "1e9" is not a whole number (see rowtocol cat --help)`},
		{"cat --limit 99999999999999999999 out", "", `--limit: "99999999999999999999" is too large a number`},
		{"cat --json=maybe out", "", `--json: "maybe" is neither true nor false`},
		{"cat --store-retry 15 out", "", `--store-retry: "15" is not a duration; write durations like 90s, 10m, 24h`},
		{"clean --older-than -1s out", "", `--older-than: "-1s" is negative`},
		{"convert --max-runtime -1s a.avro new", "", `--max-runtime: "-1s" is negative`},
		{"cat out", "ROWTOCOL_STORE_RETRY=-1s", `ROWTOCOL_STORE_RETRY: "-1s" is negative`},
		{"convert --min-age -1h a.avro new", "", `--min-age: "-1h" is negative`},
		{"task --plan p --task x", "", `--task: "x" is not a whole number`},
		{"cat --memory 1.5 out", "", `--memory: "1.5" is not a whole number of bytes`},
		{"cat", "", "cat cannot run with 0 arguments; usage: rowtocol cat"},
		{"version out", "", "version cannot run with 1 argument; usage: rowtocol version"},
		{"help convrt", "", `no command "convrt"; did you mean convert? (see rowtocol --help)`},
		{"help exitcodes", "", "did you mean exit-codes?"},
		{"completion bsh", "", `no command "bsh"; did you mean bash? (see rowtocol completion --help)`},
		{"help completion bsh", "", "did you mean bash?"},
	}
	for _, c := range cases {
		o := rowtocol(t, dir, []string{c.env}, strings.Fields(c.args)...).want(t, 1)
		if message := strings.ReplaceAll(o.stderr, `\"`, `"`); !strings.Contains(message, c.text) {
			t.Errorf("%s %s: %q is not in %s", c.env, c.args, c.text, message)
		}
		if strings.Count(o.log(), "was given") > strings.Count(c.text, "was given") {
			t.Errorf("%s: the message has the value twice: %s", c.args, o.stderr)
		}
		if o.stdout != "" {
			t.Errorf("%s: on standard output: %s", c.args, o.stdout)
		}
	}
	// An empty variable counts as not set.
	rowtocol(t, dir, []string{"ROWTOCOL_MEMORY=", "ROWTOCOL_CONFIG=", "ROWTOCOL_NONE="}, "cat", "out").want(t, 0)
}
