// Package source reads what a destination holds: its outputs and increments, and their
// files, with the keys of directories named key=value. It reads _SUCCESS files, and finds
// files in them alone, as package dataset does.
package source
