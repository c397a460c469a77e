// Package projected compares rows with projections of them, both as returned by decoders
// of other projects. Only tests import it.
package projected

import (
	"fmt"
	"reflect"
	"strings"
)

// IsProjection reports whether part is a projection of all. Both are native values: records, maps
// and tagged unions are map[string]any, arrays are []any. A projection keeps all keys that
// part has, all items of arrays, and the branches of unions.
func IsProjection(part, all any) bool {
	switch part := part.(type) {
	case map[string]any:
		all, ok := all.(map[string]any)
		for key, v := range part {
			if !ok || !IsProjection(v, member(all, key)) {
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
			if !IsProjection(part[i], all[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(part, all) || fmt.Sprint(part) == "NaN" && fmt.Sprint(all) == "NaN"
}

// member looks up a key. If it is missing, it may be the name of a type that a projection
// divided, with a suffix.
func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return m[key[:max(strings.LastIndexByte(key, '_'), 0)]]
}
