// Package damage holds the one error type for bytes that break their format. Every
// decoder in rowtocol reports such bytes as a located *Error, so that a person can find
// the byte and a program can tell damaged input from a failing disk.
package damage
