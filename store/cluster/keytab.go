package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"
)

// loadKeytab reads a keytab. The library's parser panics on some damaged keytabs.
func loadKeytab(files *secretFiles, path string) (keys *keytab.Keytab, err error) {
	defer func() {
		if recover() != nil {
			keys, err = nil, errors.New("it is damaged")
		}
	}()
	data, err := files.read(path)
	if err != nil {
		return nil, err
	}
	keys = keytab.New()
	err = keys.Unmarshal(data)
	//guard: names an empty keytab as the cause
	if err == nil && len(keys.Entries) == 0 {
		err = errors.New("there are no keys in it")
	}
	return keys, err
}

// onlyPrincipal returns the only principal of a keytab.
func onlyPrincipal(keys *keytab.Keytab) (string, error) {
	var names []string
	for _, e := range keys.Entries {
		if name := e.Principal.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return "", fmt.Errorf("it has keys of %d principals: choose one with --principal", len(names))
	}
	return names[0], nil
}

func hasKeys(keys *keytab.Keytab, name types.PrincipalName, realm string) bool {
	for _, e := range keys.Entries {
		if e.Principal.Realm == realm && slices.Equal(e.Principal.Components, name.NameString) {
			return true
		}
	}
	return false
}
