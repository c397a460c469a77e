// Package trevni reads, writes, verifies and dumps Trevni column files.
package trevni
