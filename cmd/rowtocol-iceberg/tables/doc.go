// Package tables makes an Iceberg table hold exactly what a destination holds.
//
// # What the table holds
//
// The property rowtocol.output of the table names the destination, its outputs and increments,
// and has a digest of the names of their files: see Record. It changes in the transaction
// that changes the files. Sync decides by it alone, and refuses a table whose current files are
// not those of the property: another program changed it.
//
//	no table                          create it, with a property that names no output
//	a table without the property      take it if it is empty and has the same columns; else refuse it
//	a property of another destination refuse it
//	the same outputs                  do nothing
//	more files                        append them
//	other files                       replace those that are gone: one snapshot of the kind overwrite
//
// # Exactly once
//
// A commit is one call of the catalog. It requires that the snapshot is the one that Sync
// decided by. After a conflict, and after an error that leaves open what happened, Sync loads
// the table again and decides anew, so a commit that succeeded is found, and one that did
// not is repeated. After a commit, Sync reads the destination again: if it changed, Sync
// begins again.
//
// # Expiry
//
// A file that was replaced will be removed from the destination. So Sync removes the snapshots
// that name such files from the table, and those beyond the number to keep, by a commit of its
// own. It does not remove a snapshot that a branch or a tag names: if a replaced file is in
// it, the error names the branch or the tag. Sync never removes data files.
//
// Manifests, lists of manifests and metadata files that nothing names any more are removed
// when they have a certain age, so that queries under way still find them.
package tables
