//go:build testformat

package main

import "github.com/rowtocol/rowtocol/internal/testformat"

func init() { formats = append(formats, testformat.Format) }
