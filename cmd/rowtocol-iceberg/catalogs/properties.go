package catalogs

import "strings"

// environmentPrefix begins the variables of PyIceberg about catalogs.
const environmentPrefix = "PYICEBERG_CATALOG__"

// Environment returns the properties of a catalog in variables of the form NAME=VALUE, as
// PyIceberg reads them: PYICEBERG_CATALOG__DEFAULT__OAUTH2_SERVER_URI is the property
// oauth2-server-uri of the catalog default. Two underscores in a row are a dot.
func Environment(catalog string, variables []string) map[string]string {
	properties := make(map[string]string)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		rest, ok := strings.CutPrefix(name, environmentPrefix+strings.ToUpper(strings.ReplaceAll(catalog, "-", "_"))+"__")
		if ok && rest != "" {
			properties[strings.NewReplacer("__", ".", "_", "-").Replace(strings.ToLower(rest))] = value
		}
	}
	return properties
}

// Secret reports whether the value of a property is a secret.
func Secret(key string) bool {
	for _, word := range []string{"token", "credential", "secret", "password"} {
		if strings.Contains(strings.ToLower(key), word) {
			return true
		}
	}
	return false
}
