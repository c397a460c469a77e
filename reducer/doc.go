// Package reducer writes the files of a task: the outputs of finished row groups,
// which are literal bytes and spilled blocks, one after another, re-encoding
// nothing; and copies of input. It is the same for all formats, because a
// format.Output names sizes and pieces only.
//
// A file is written, committed, read back and compared with what was sent. Each
// try has a name of its own, so no other writer ever has it, and what is
// removed after a failure is never another's. Only the name of a complete and
// verified file is returned: the document that lists it is what tells it from
// what an interrupted try left.
package reducer
