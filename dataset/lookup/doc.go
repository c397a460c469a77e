// Package lookup finds rows of a dataset by the key indexes of its outputs: it turns a range of
// keys into the numbers of the rows, which dataset.Query.Only takes.
package lookup
