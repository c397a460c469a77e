// Package input is the inputs of a conversion: which files the user's words
// name, what each is (its length, identity and schema), whether it still is what
// it was, and how its rows become rows of one schema.
//
//	words ──Expand──► locations ──Describe──► manifest.Input, header
//	                  and what is skipped       or why it is no input
//	manifest.Input ──Open──► the file, if it still has its length
//	manifest.Input ──Check──► it is what it was
//
// Errors have a kind of package failure: what is missing or changed is Input.
package input
