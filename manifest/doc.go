// Package manifest holds the documents that a job leaves beside its output:
// the plan that every task reads, the result that every task leaves, and the
// _SUCCESS document that says what was committed. They are versioned JSON; the
// same document always encodes to the same bytes, which hold no time, host or
// (of the output) path.
//
//	DEST/_SUCCESS                            Success, written last
//	DEST/.rowtocol/<plan id>/plan.json       Plan
//	DEST/.rowtocol/<plan id>/task-00012.json TaskResult
//
// The package is a leaf: it knows the documents and nothing of how they come
// about.
package manifest
