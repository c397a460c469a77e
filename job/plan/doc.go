// Package plan turns the inputs of a conversion and its options into the plan
// document that every task reads. It changes nothing, and knows neither tasks at
// work nor anything about the destination but its name.
//
//	Request ──Look──► Survey: inputs, schema, columns     headers are read
//	Survey  ──Plan──► manifest.Plan: sizes, tasks         a sample is converted
//
// The survey is enough to find out whether the output is there already. The same
// inputs and options give the same plan, whatever the machine, except that a
// smaller memory may force smaller column blocks.
//
// How much input fills a row group is simulated: the mapper ends a row group
// once what is stored and what the open blocks may take at most pass the
// ceiling, so the input of a task must stay below that at every row. What
// columns take per byte of input comes from a sample.
//
// Errors have a kind of package failure.
package plan
