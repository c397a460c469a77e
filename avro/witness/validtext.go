package witness

import "strings"

// validText returns a row with U+FFFD in place of each run of bytes that are not UTF-8, in all
// strings and keys of maps.
func validText(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case []any:
		for i := range v {
			v[i] = validText(v[i])
		}
	case map[string]any:
		valid := make(map[string]any, len(v))
		for name, value := range v {
			valid[strings.ToValidUTF8(name, "\uFFFD")] = validText(value)
		}
		return valid
	case named:
		return named{v.name, validText(v.value)}
	}
	return v
}
