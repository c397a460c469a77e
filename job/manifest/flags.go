package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flagNames are the names of flags, by the option in a document, where they differ in more than
// underscores.
var flagNames = map[string]string{
	"recursive_bytes": "recursive", "column_codecs": "codec", "column_compressions": "compression", "encodings": "encoding",
	"bloom_filters": "bloom-filter", "physical": "encoding", "family": "column", "qualifier": "column",
}

// sizeOptions are the options that are sizes in bytes.
var sizeOptions = []string{"row_group_size", "block_size", "max_input_block"}

// flagOf returns the flag of an option in a document.
func flagOf(option string) string {
	if name, ok := flagNames[option]; ok {
		return "--" + name
	}
	return "--" + strings.ReplaceAll(option, "_", "-")
}

// flagValue returns the value of an option as people write it after the flag.
func flagValue(option string, v any) string {
	switch v := v.(type) {
	case nil:
		return "not set"
	case string:
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil && slices.Contains(sizeOptions, option) {
			return SizeText(n)
		}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, flagValue(option, item))
		}
		return strings.Join(all, ",")
	case map[string]any:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, key+"="+flagValue(option, v[key]))
		}
		return strings.Join(all, ",")
	}
	return fmt.Sprint(v)
}

// SizeText writes a number of bytes as flags take it, in the largest unit that fits it exactly.
func SizeText(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n != 0 && n%1024 == 0 && i < len(units)-1; i++ {
		n /= 1024
	}
	return fmt.Sprint(n) + units[i]
}
