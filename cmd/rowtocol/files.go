package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// list resolves the names of inputs, and finds the files.
func (a *app) list(ctx context.Context, names []string) (*dataset.Listing, error) {
	at, err := a.resolveAll(names)
	if err != nil {
		return nil, err
	}
	return dataset.List(ctx, at, dataset.Options{Formats: formats, Memory: a.Pool, Keyless: true})
}

// resolveAll resolves several locations.
func (a *app) resolveAll(names []string) ([]store.Location, error) {
	at := make([]store.Location, len(names))
	for i, name := range names {
		var err error
		if at[i], err = a.Resolve(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// maxSchema bounds a schema file, in bytes.
const maxSchema = 16 << 20

// readerSchema returns the JSON of the Avro schema in a file, or "" if no file is named.
func (a *app) readerSchema(ctx context.Context, location string) (string, error) {
	if location == "" {
		return "", nil
	}
	at, err := a.Resolve(location)
	if err != nil {
		return "", err
	}
	text, err := cli.ReadDocument(ctx, "--schema", location, at, maxSchema)
	if errors.Is(err, failure.Input) {
		return "", cli.AsUsage(err)
	}
	if err != nil {
		return "", err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "", cli.Usagef("--schema: %s is empty", location)
	}
	if _, err := shred.ParseSchema(string(text)); err != nil {
		return "", cli.Usagef("--schema: %s: %w", location, err)
	}
	return string(text), nil
}
