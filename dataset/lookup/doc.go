// Package lookup finds rows of a dataset by the key indexes of its outputs: from a range of
// keys to the numbers of the rows, which dataset.Query.Only takes.
package lookup
