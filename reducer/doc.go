// Package reducer writes the files of a task: the outputs of finished row groups,
// and copies of input. An output is a sequence of literal bytes and spilled
// blocks, which are copied without being encoded again. The package is the same
// for all formats, because a format.Output names only sizes and pieces.
//
// A file is written, committed, read back and compared with the bytes that were
// sent. Each try has a file name of its own, which no other writer uses. So
// removing the file of a failed try never removes another file. Only the names of
// complete and verified files are returned. A file that no document lists may be
// incomplete: an interrupted try left it.
package reducer
