package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Request is what the user asked for. If an output has an equal request, the output is
// finished. If a plan has an equal request, the plan can be resumed. The program and the
// machine do not matter.
type Request struct {
	Inputs  []Input `json:"inputs"` // sorted by path
	Options Options `json:"options"`
	// Schema is the JSON of the Avro schema to which the rows of all inputs are resolved from
	// the schemas of the inputs. It is empty if all inputs must have the same schema.
	Schema string `json:"schema,omitempty"`
	// SchemaKept is whether Schema was not requested, but comes from an earlier output
	// to which the new output is added. Values then keep their meaning: see
	// shred.KeepMeaning.
	SchemaKept bool `json:"schema_kept,omitempty"`
	// SchemaCanonical is the same text for all spellings of one schema. It is empty without a
	// schema, and in documents of older programs. Schema is then compared as it is written.
	SchemaCanonical string `json:"schema_canonical,omitempty"`
}

// Input is an input file as the request found it.
type Input struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Identity uint32 `json:"identity"` // CRC-32C of the header and of the last 64 KiB
	// Recent is whether the file was examined just after ModTime: see SetModified. It is here and
	// not next to ModTime, because plans with very many inputs are then smaller in memory.
	Recent     bool  `json:"recent,omitempty"`
	HeaderSize int64 `json:"header_size"` // offset of the first block; 0 for an empty file, which has no header
	// Unreadable is why the header cannot be read; empty if it can. The file is then lost as a
	// whole: one task has all of it, and HeaderSize is how many of its first bytes Identity covers.
	Unreadable string `json:"unreadable,omitempty"`
	// The fields below, and Recent, do not identify the input. They decide whether a file must be
	// opened, or read whole, to recognize it: see Relate.

	// Real is Path with symbolic links resolved; empty if it is Path.
	Real string `json:"real,omitempty"`
	// FileID is the storage's number of the file; 0 if there is none.
	FileID uint64 `json:"file_id,omitempty"`
	// ModTime is the time of the last modification; zero if it is not known.
	ModTime time.Time `json:"mod_time,omitzero"`
	// CRC32C is the CRC-32C of all bytes of the file; nil if it is not known. In _SUCCESS
	// it covers the bytes that the tasks read.
	CRC32C *uint32 `json:"crc32c,omitempty"`

	was *Input // the input before MoveInputs renamed it; nil if it was not renamed
}

// Same reports whether a plan has the same tasks for both inputs.
func (in Input) Same(other Input) bool { return in.bare() == other.bare() }

// bare returns an input with only the fields that shape a plan.
func (in Input) bare() Input {
	return Input{Path: in.Path, Size: in.Size, Identity: in.Identity, HeaderSize: in.HeaderSize, Unreadable: in.Unreadable}
}

// Options are the options that shape output bytes or decide which rows are in them.
type Options struct {
	Format string `json:"format"` // format name, "trevni"
	// FormatOptions is a JSON document of the format's own options.
	FormatOptions  json.RawMessage `json:"format_options,omitempty"`
	RowGroupSize   int64           `json:"row_group_size"`       // ceiling of a row group, bytes
	BlockSize      int             `json:"block_size,omitempty"` // column block size, bytes; 0 lets the plan choose
	OnDamage       string          `json:"on_damage"`            // fail, skip or quarantine
	MaxInputBlock  int64           `json:"max_input_block"`      // limit of a decompressed input block, bytes
	MaxLostRows    int64           `json:"max_lost_rows"`        // limit of lost rows, above which the job stops; negative is no limit
	RecursiveBytes bool            `json:"recursive_bytes,omitempty"`
	Strict         bool            `json:"strict,omitempty"` // odd schemas are errors, not warnings
	// Copies says what to do with an input that has the same bytes as another: "skip" or
	// "refuse". If it is empty, such inputs are converted.
	Copies string `json:"copies,omitempty"`
	// Index are the key indexes to make, each given by the fields of its keys: see
	// rowkey.Parse.
	Index []string `json:"index,omitempty"`
	// Exclude are the patterns of inputs that are left out, sorted: see input.Filter.
	Exclude []string `json:"exclude,omitempty"`
}

// Differences describes how a request differs from r, the earlier one; empty if
// they are equal.
func (r *Request) Differences(now *Request) []string {
	return slices.Concat(inputDifferences(r.Inputs, now.Inputs), optionDifferences(&r.Options, &now.Options), schemaDifferences(r, now))
}

// Resumes reports whether a plan for r can be resumed for another request. The inputs must have
// the same names, because tasks open them by name. If inputs were modified since, their bytes are
// compared with what finished tasks read: see input.StillRead and input.Check.
func (r *Request) Resumes(now *Request) bool {
	return slices.EqualFunc(r.Inputs, now.Inputs, Input.Same) &&
		len(optionDifferences(&r.Options, &now.Options)) == 0 && len(schemaDifferences(r, now)) == 0
}

func inputDifferences(before, now []Input) (texts []string) {
	known := NewKnown(before...)
	found := make(map[string]bool, len(before))
	for i := range now {
		in := &now[i]
		m := known.Find(in, "", false)
		if m.Relation != Unrelated {
			found[m.Path] = true
		}
		switch {
		case m.Relation == SameFile:
		case m.Relation == Unread && m.CRC32C == nil: // before is a plan's: what its tasks read is compared when it is used
		case m.Relation == Unrelated:
			if was := known.Named(in); was != nil { // a file that had no readable header, with other bytes
				found[was.Path] = true
				texts = append(texts, fmt.Sprintf("input %s changed: %s", in.Path, was.How(in)))
				continue
			}
			texts = append(texts, fmt.Sprintf("input %s was added", in.Path))
		default:
			texts = append(texts, fmt.Sprintf("input %s changed: %s", in.Path, m.How(in)))
		}
	}
	for _, in := range before {
		if !found[in.Path] {
			texts = append(texts, fmt.Sprintf("input %s is not named", in.Path))
		}
	}
	return texts
}

// How describes how an input changed.
func (in *Input) How(now *Input) string {
	switch {
	case in.Size != now.Size:
		return fmt.Sprintf("it had %d bytes and has %d", in.Size, now.Size)
	case now.Opened() && !in.sameEnds(now):
		return fmt.Sprintf("its identity was %08x and is %08x", in.Identity, now.Identity)
	case in.CRC32C != nil && now.CRC32C != nil:
		return fmt.Sprintf("the CRC-32C of its bytes was %08x and is %08x", *in.CRC32C, *now.CRC32C)
	}
	return fmt.Sprintf("it was modified at %s and at %s", stamp(in.ModTime), stamp(now.ModTime))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.Format(time.RFC3339Nano)
}

func optionDifferences(before, now *Options) []string {
	texts := fieldDifferences(programOptions(before), programOptions(now))
	if before.Format != now.Format {
		return texts // which options a format has follows from the format
	}
	return append(texts, fieldDifferences(formatOptions(before), formatOptions(now))...)
}

func fieldDifferences(before, now map[string]any) (texts []string) {
	names := maps.Clone(before)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(before[name], now[name]) {
			texts = append(texts, fmt.Sprintf("%s was %s and is %s", flagOf(name), flagValue(name, before[name]), flagValue(name, now[name])))
		}
	}
	return texts
}

// DefaultBlockSize is the size of column blocks that a plan starts from by default.
const DefaultBlockSize = 64 << 10

// programOptions returns all options except the format's own, by their names in the
// document.
func programOptions(o *Options) map[string]any {
	own := *o
	own.FormatOptions = nil
	if own.BlockSize == 0 {
		own.BlockSize = DefaultBlockSize // the default is the same option as an explicit 64 KiB
	}
	b, err := json.Marshal(own)
	if err != nil {
		panic(err) // strings and numbers have JSON
	}
	return fields(b)
}

// formatOptions returns the format's own options by their names in its document.
// A document that is not an object is compared as text.
func formatOptions(o *Options) map[string]any {
	f := fields(o.FormatOptions)
	if f == nil {
		return map[string]any{"format_options": string(o.FormatOptions)}
	}
	return f
}

// fields returns the fields of an object; numbers keep their digits. An empty document
// has no fields. For a document that is not an object, fields returns nil.
func fields(doc []byte) map[string]any {
	f := make(map[string]any)
	if len(doc) == 0 {
		return f
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		return nil
	}
	return f
}

func schemaDifferences(before, now *Request) []string {
	switch {
	//guard: distinguishes a requested schema from a kept one
	case before.SchemaKept != now.SchemaKept:
		return []string{"the schema to resolve to was asked for in one run and not in the other"}
	case before.Schema == now.Schema:
		return nil
	case before.Schema == "":
		return []string{"a schema is given to resolve to, and was not"}
	case now.Schema == "":
		return []string{"no schema is given to resolve to, and one was"}
	case before.SchemaCanonical != "" && before.SchemaCanonical == now.SchemaCanonical:
		return nil
	}
	return []string{"the schema to resolve to is another"}
}
