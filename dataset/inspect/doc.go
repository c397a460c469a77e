// Package inspect finds out where the bytes of an output are: Gather sums the
// block tables of its files per column and per file. The sums are shown as a table,
// as JSON, or as one self-contained page of HTML (Figures.HTML).
//
// # Page
//
// The page has its style, script and data inline. Names and schemas come from
// files that anyone may have made, so a content security policy forbids to load
// anything and to run any other script. The header and the schema are in the
// HTML. The script draws the tables from the data, in portions, so that ten
// thousand columns open as fast as ten.
//
// # Tree
//
// The columns of the page are nested like the types of the schema. The tree is
// made from the names of the columns, which package shred forms as Trevni
// specifies, so that files without a schema have a tree too:
//
//	to[]           to[]
//	to[]#host        host
//	to[]#tags>       tags>
//	to[]#tags>key      key
//	to[]#tags>value    value
//	size/int       size
//	size/string      /int
//	                 /string
package inspect
