// Package datagen makes the data sets of the benchmarks: Avro object container
// files of every shape that costs a conversion something else. The same set
// with the same options gives the same bytes. It belongs to the tests; nothing
// that converts data imports it.
package datagen
