// Package input finds the inputs of a conversion. It expands the user's arguments
// to files, describes each file (its length, identity and schema), checks that it
// did not change, and resolves its rows to one schema.
//
//	arguments ──Expand──► locations ──Describe──► manifest.Input, header
//	                      and skipped files         or why it is not an input
//	manifest.Input ──Open──► the file, if its length, header and end are unchanged
//	manifest.Input ──Check──► the input as it is now, if its bytes are unchanged
//
// Errors have a kind of package failure. For a missing or changed file, it is Input.
package input
