// Package reducer writes the outputs of finished row groups: literal bytes and
// spilled blocks, one after another, re-encoding nothing. It is the same for
// all formats, because a format.Output names sizes and pieces only.
//
// An output is written under a temporary name beside its own, committed, read
// back and compared with what was sent, and then renamed. So under its own name
// it is complete and verified, or is not there.
package reducer
