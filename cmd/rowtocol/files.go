package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/store"
)

// list resolves FILE|DIR... and finds the files, which are looked at as they are.
func (a *app) list(ctx context.Context, names []string) (*dataset.Listing, error) {
	at, err := a.resolveAll(names)
	if err != nil {
		return nil, err
	}
	return dataset.ListAll(ctx, at, dataset.Options{Formats: formats, Memory: a.pool, Keyless: true})
}

// resolveAll is resolve for several locations.
func (a *app) resolveAll(names []string) ([]store.Location, error) {
	at := make([]store.Location, len(names))
	for i, name := range names {
		var err error
		if at[i], err = a.resolve(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// maxSchema bounds a schema that is read from a file of its own, in bytes.
const maxSchema = 16 << 20

// readerSchema returns the JSON of the Avro schema in a file; empty if no file
// is named.
func (a *app) readerSchema(ctx context.Context, location string) (string, error) {
	if location == "" {
		return "", nil
	}
	at, err := a.resolve(location)
	if err != nil {
		return "", err
	}
	text, err := at.Store.ReadFile(ctx, at.Path, maxSchema)
	if errors.Is(err, store.ErrNotExist) {
		return "", usagef("--schema: %s does not exist", location)
	}
	if err != nil {
		return "", flagFile("--schema", location, err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "", usagef("--schema: %s is empty", location)
	}
	return string(text), nil
}

// flagFile says of which flag's file err is. What cannot be the file that is meant is
// wrong use.
func flagFile(flag, location string, err error) error {
	if errors.Is(err, store.ErrNotRegular) || errors.Is(err, store.ErrTooLarge) {
		return usagef("%s: %s: %w", flag, location, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}
