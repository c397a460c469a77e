package storetest

import "github.com/rowtocol/rowtocol/store"

// ResolveTo resolves every location to one store.
func ResolveTo(st store.Store) func(location string) (store.Location, error) {
	return func(location string) (store.Location, error) { return store.Location{Store: st, Path: location}, nil }
}
