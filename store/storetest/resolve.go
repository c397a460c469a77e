package storetest

import "github.com/rowtocol/rowtocol/store"

// On resolves every location to one store.
func On(st store.Store) func(location string) (store.Location, error) {
	return func(location string) (store.Location, error) { return store.Location{Store: st, Path: location}, nil }
}
