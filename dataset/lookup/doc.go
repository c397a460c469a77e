// Package lookup finds rows of a dataset by the key indexes of its outputs. It turns a range of
// keys into the numbers of rows, in the form of dataset.Query.Only.
package lookup
