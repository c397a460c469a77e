// Package inspect finds out where the bytes of an output are: it sums the
// block tables of its files per column and per file (Gather), for a table, for
// JSON, or as one page of HTML that needs nothing else (Figures.HTML).
//
// # Page
//
// The page carries its style, its script and its data inline, and a policy
// that lets it load nothing and run no other script: names and schemas come
// from files that anyone may have made. The header and the schema are in the
// HTML; the script draws the tables, in portions, from the data, so that ten
// thousand columns open as fast as ten.
//
// # Tree
//
// The columns of the page are nested as the types of the schema are. The
// names of columns say it all (package shred makes them, as Trevni wants
// them), so that files without a schema have a tree too:
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
