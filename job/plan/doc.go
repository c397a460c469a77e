// Package plan turns the inputs and options of a conversion into the plan document
// that every task reads. It changes nothing, knows no running tasks, and knows only
// the name of the destination.
//
//	Request ──NewSurvey──► Survey: inputs, schema, columns     headers are read
//	Survey  ──Plan───────► manifest.Plan: sizes, tasks         a sample is converted
//
// The survey is enough to find out whether the output exists already. The same
// inputs and options give the same plan on every machine, except that a smaller
// memory may force smaller column blocks.
//
// A simulation finds how much input fills a row group. The mapper ends a row group
// once its stored bytes and the upper bounds of its open blocks exceed the ceiling. If
// the open blocks have a large share in that, the mapper closes them and goes on. So
// that a task makes one row group, its input must not exceed the ceiling at any row. A
// sample shows how many bytes the columns take per byte of input.
//
// Errors have a kind of package failure.
package plan
