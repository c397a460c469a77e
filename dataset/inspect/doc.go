// Package inspect computes the sizes of the parts of an output. Gather adds up the
// block tables of its files per column and per file. The sums are shown as a table, as
// JSON, or as one self-contained page of HTML (Figures.HTML).
//
// # Page
//
// The page has its style, script and data inline. Names and schemas come from
// files of unknown origin, so a content security policy forbids loading resources
// and running other scripts. The header and the schema are in the HTML. The script
// draws the tables from the data, in portions, so that a page of ten thousand
// columns opens as fast as a page of ten.
//
// # Tree
//
// The columns of the page are nested like the types of the schema. The tree is
// made from the names of the columns, so that files without a schema have a tree
// too. Package shred makes these names as Trevni specifies:
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
