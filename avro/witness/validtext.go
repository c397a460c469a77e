package witness

import "strings"

// validText returns a row with U+FFFD in place of each run of bytes that are not UTF-8, in all
// strings and keys of maps. distinct is false if different keys of a map become the same key.
func validText(v any) (valid any, distinct bool) {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "\uFFFD"), true
	case []any:
		distinct = true
		for i := range v {
			ok := false
			v[i], ok = validText(v[i])
			distinct = distinct && ok
		}
		return v, distinct
	case map[string]any:
		distinct = true
		valid := make(map[string]any, len(v))
		for name, value := range v {
			value, ok := validText(value)
			valid[strings.ToValidUTF8(name, "\uFFFD")] = value
			distinct = distinct && ok
		}
		return valid, distinct && len(valid) == len(v)
	case named:
		value, ok := validText(v.value)
		return named{v.name, value}, ok
	}
	return v, true
}
