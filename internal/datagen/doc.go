// Package datagen makes the data sets of the benchmarks: Avro object container files whose
// shapes stress different parts of a conversion. The same set with the same options gives
// the same bytes. Only tests and tools import it.
package datagen
