// Package damage holds the one error type for bytes that are not what their
// format says. Every decoder in rowtocol reports what it found wrong as a
// located *Error, so that a person can find the byte and a program can tell
// damaged input from a failing disk.
package damage
