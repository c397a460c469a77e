package main

import "github.com/rowtocol/rowtocol/store"

// resolve finds the store of a location that the user named.
func (a *app) resolve(location string) (store.Location, error) { return store.Resolve(location) }
