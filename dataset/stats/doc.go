// Package stats computes figures of columns: the numbers of values, of missing values and
// of distinct values, the least and the largest value, and the lengths of texts and lists.
// It reads batches of package dataset, so that only the needed columns are read. Its
// memory depends on the number of columns, not of rows.
package stats
