package witness

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strconv"
)

// absent is the value of a key that a map does not have.
type absent struct{}

// differ returns the path of the first difference between two Go values, and both values at
// that path. same is true if the values are equal.
func differ(path string, want, got any) (at string, w, g any, same bool) {
	switch a := want.(type) {
	case []any:
		b, ok := got.([]any)
		if !ok || len(a) != len(b) {
			return path, want, got, false
		}
		for i := range a {
			if at, w, g, same := differ(path+"["+strconv.Itoa(i)+"]", a[i], b[i]); !same {
				return at, w, g, false
			}
		}
		return "", nil, nil, true
	case map[string]any:
		b, ok := got.(map[string]any)
		if !ok || len(a) != len(b) {
			return path, want, got, false
		}
		return differMap(path, a, b)
	case named:
		b, ok := got.(named)
		if !ok || a.name != b.name {
			return path, want, got, false
		}
		return differ(path, a.value, b.value)
	}
	return path, want, got, equalLeaf(want, got)
}

// differMap compares two Go maps. They are records or maps, or union branches that goavro
// chose. It sorts the keys, so that it always finds the same difference first.
func differMap(path string, a, b map[string]any) (at string, w, g any, same bool) {
	keys := make([]string, 0, len(a))
	for k := range a {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		v, ok := b[k]
		if !ok {
			return join(path, k), a[k], absent{}, false
		}
		if at, w, g, same := differ(join(path, k), a[k], v); !same {
			return at, w, g, false
		}
	}
	return "", nil, nil, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func equalLeaf(want, got any) bool {
	switch a := want.(type) {
	case float32:
		b, ok := got.(float32)
		return ok && math.Float32bits(a) == math.Float32bits(b)
	case float64:
		b, ok := got.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []byte:
		b, ok := got.([]byte)
		return ok && bytes.Equal(a, b)
	case nil, bool, int32, int64, string:
		switch got.(type) {
		case nil, bool, int32, int64, string:
			return want == got
		}
	}
	return false
}

// render formats a value for a message, shortened.
func render(v any) string {
	const most = 80
	var s string
	switch x := v.(type) {
	case []byte:
		s = fmt.Sprintf("%q", x[:min(len(x), most)])
	case string:
		s = fmt.Sprintf("%q", x[:min(len(x), most)])
	case []any:
		s = fmt.Sprintf("%d items", len(x))
	case named:
		s = x.name + " " + render(x.value)
	case absent:
		s = "nothing"
	default:
		s = fmt.Sprintf("%v", x)
	}
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
