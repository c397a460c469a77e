package main

import (
	"context"

	"github.com/rowtocol/rowtocol/dataset"
)

// list resolves FILE|DIR and finds its files.
func (a *app) list(ctx context.Context, location string) (*dataset.Listing, error) {
	at, err := a.resolve(location)
	if err != nil {
		return nil, err
	}
	return dataset.List(ctx, at.Store, at.Path, dataset.Options{})
}
