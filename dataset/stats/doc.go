// Package stats sums up columns: how many values there are and how many are
// missing, how many differ, the least and the largest, how long texts and lists are.
// It reads batches of package dataset, so that what is not asked for is not read, and
// takes memory per column, not per row.
package stats
