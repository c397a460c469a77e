// Package stats computes figures of columns: how many values there are, how many are
// missing, how many are distinct, the least and the largest, and how long texts and
// lists are. It takes batches of package dataset, so that only the needed columns are
// read, and needs memory per column, not per row.
package stats
