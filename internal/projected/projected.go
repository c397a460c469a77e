// Package projected compares rows with what a choice of fields leaves of them,
// as decoders that know nothing of rowtocol see both. Only tests import it.
package projected

import (
	"fmt"
	"reflect"
	"strings"
)

// Of reports whether part is what a projection leaves of all. Both are native
// values: records, maps and tagged unions are map[string]any, arrays []any. An
// array keeps its items, a map its keys and a union its branch.
func Of(part, all any) bool {
	switch part := part.(type) {
	case map[string]any:
		all, ok := all.(map[string]any)
		for key, v := range part {
			if !ok || !Of(v, member(all, key)) {
				return false
			}
		}
		return ok
	case []any:
		all, ok := all.([]any)
		if !ok || len(all) != len(part) {
			return false
		}
		for i := range part {
			if !Of(part[i], all[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(part, all) || fmt.Sprint(part) == "NaN" && fmt.Sprint(all) == "NaN"
}

// member looks up a key, which may be the name of a type that became two.
func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return m[key[:max(strings.LastIndexByte(key, '_'), 0)]]
}
