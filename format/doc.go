// Package format is the seam between the pipeline (mapper, reducer) and the
// column formats. A format turns finished raw blocks into stored blocks, and
// at the end of a row group names its output files as sizes and pieces, so
// that every size is known before the first byte is written and one reducer
// serves all formats.
package format
