// Package lookup finds rows of a dataset by the key indexes of its outputs. It turns a range of
// keys into the numbers of rows, in the form of dataset.Query.Only. Table.Find finds the rows of
// one range, Table.FindAll those of many ranges or keys together.
package lookup
