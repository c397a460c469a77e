package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/trevni"
)

// outputFlags are the flags that shape an output, as they were given.
type outputFlags struct {
	codecs, meta, values          []string
	format, checksum, onDamage    string
	recursive, schema             string
	blockSize, rowGroup, maxBlock byteSize
	maxLost                       int64
	strict                        bool
}

var onDamageChoices = []string{"fail", "skip", "quarantine"}

func (f *outputFlags) add(flags *pflag.FlagSet) {
	f.rowGroup, f.maxBlock = 128<<20, 512<<20
	flags.StringVar(&f.format, "format", "trevni", "`format` of the output")
	flags.StringArrayVar(&f.codecs, "codec", nil, "codec, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable (default snappy)")
	flags.StringVar(&f.checksum, "checksum", trevni.ChecksumJava, "checksum of blocks: crc32 (as Java reads it), crc-32 or null")
	flags.Var(&f.blockSize, "block-size", "bytes of a column at which its block is closed (default 64KiB, less where --memory is too small for the columns)")
	flags.Var(&f.rowGroup, "row-group-size", "ceiling of an output file")
	flags.StringArrayVar(&f.values, "values", nil, "`column` to keep each block's first value of, so that readers can seek by value; repeatable")
	flags.StringArrayVar(&f.meta, "meta", nil, "`KEY=VALUE` for the file metadata; repeatable")
	flags.StringVar(&f.onDamage, "on-damage", "fail", "what damaged input does: fail, skip (go on after it) or quarantine (skip, and keep its bytes in DEST)")
	flags.Int64Var(&f.maxLost, "max-lost-rows", -1, "stop when damage has cost more rows than this; -1 is no limit")
	flags.Var(&f.maxBlock, "max-input-block", "largest decompressed input block, and row resolved to --schema")
	flags.StringVar(&f.recursive, "recursive", "", "bytes: keep the recursive part of a schema as one column of Avro-encoded bytes")
	flags.StringVar(&f.schema, "schema", "", "`file` with the Avro schema that the rows of all inputs are resolved to: defaults, aliases, promotions")
	flags.BoolVar(&f.strict, "strict", false, "refuse schemas that Java readers may refuse, instead of warning")
}

// completeOutput offers the values of outputFlags to the shell.
func completeOutput(cmd *cobra.Command) {
	complete(cmd, "format", "trevni")
	complete(cmd, "codec", trevniCodecs...)
	complete(cmd, "checksum", trevni.ChecksumJava, trevni.ChecksumSpec, "null")
	complete(cmd, "on-damage", onDamageChoices...)
	complete(cmd, "recursive", "bytes")
}

// trevniCodecs are offered by shell completion; trevni.Options.Validate is
// the judge.
var trevniCodecs = []string{"null", "deflate", "snappy", "bzip2", "zstandard"}

// options checks the flags and makes the plan's options of them.
func (f *outputFlags) options() (manifest.Options, error) {
	t := trevni.Options{Codec: "snappy", ColumnCodecs: map[string]string{}, Checksum: f.checksum, Values: f.values}
	o := manifest.Options{
		Format: f.format, RowGroupSize: int64(f.rowGroup), BlockSize: int(f.blockSize),
		OnDamage: f.onDamage, MaxInputBlock: int64(f.maxBlock),
		MaxLostRows: max(f.maxLost, -1), RecursiveBytes: f.recursive == "bytes", Strict: f.strict,
	}
	switch {
	case f.format != "trevni":
		return o, usagef("--format: %q is not a format; trevni is", f.format)
	case f.recursive != "" && f.recursive != "bytes":
		return o, usagef("--recursive: %q is not a choice; bytes is", f.recursive)
	case !slices.Contains(onDamageChoices, f.onDamage):
		return o, usagef("--on-damage: %q is not one of %s", f.onDamage, strings.Join(onDamageChoices, ", "))
	case f.rowGroup == 0:
		return o, usagef("--row-group-size must be more than 0")
	case f.maxBlock == 0:
		return o, usagef("--max-input-block must be more than 0")
	case f.blockSize > 1<<30:
		return o, usagef("--block-size must be at most 1GiB")
	}
	for _, c := range f.codecs {
		if i := strings.LastIndexByte(c, '='); i < 0 {
			t.Codec = c
		} else if i == 0 {
			return o, usagef("--codec %q: the column before = is missing", c)
		} else {
			t.ColumnCodecs[c[:i]] = c[i+1:]
		}
	}
	for _, m := range f.meta {
		key, value, ok := strings.Cut(m, "=")
		if !ok || key == "" {
			return o, usagef("--meta %q is not of the form KEY=VALUE", m)
		}
		t.Meta = append(t.Meta, trevni.KeyValue{Key: key, Value: []byte(value)})
	}
	if err := t.Validate(nil); err != nil {
		return o, &usageError{err}
	}
	var err error
	o.FormatOptions, err = json.Marshal(t)
	return o, err
}

func newFormat(o manifest.Options) (format.Format, error) {
	if o.Format != "trevni" {
		return nil, usagef("%q is not a format that this program writes", o.Format)
	}
	t, err := trevni.ParseOptions(o.FormatOptions)
	if err != nil {
		return nil, &usageError{err}
	}
	return trevni.NewFormat(t), nil
}
