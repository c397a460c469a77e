// Package where decides which rows meet a condition, a batch of columns at a
// time.
//
//	score > 0.9 && size != null
//	folder in ["INBOX", "SENT"] || lower(subject) contains "urgent"
//	date >= date("2025-01-01") && not seen
//
// The language is that of github.com/expr-lang/expr, which parses it and
// computes what its functions and arithmetic say. Comparisons and logic are
// this package's own, with these rules.
//
// # Fields
//
// A field is named as in the schema, through records with dots. It has a
// simple type or is a union of null and one; unions of several types, and what
// is in an array or a map, cannot be named. $env["odd name"] is a field whose
// name is not an identifier or is a word of the language.
//
//	boolean             a condition by itself, or compared with true and false
//	int, long           numbers; date, time and timestamp types are the numbers
//	                    that are stored, but date and timestamps compare with
//	                    date("2025-01-01") too
//	float, double       numbers
//	string, bytes,      text, ordered by its bytes; len, upper and other
//	fixed               functions take it as UTF-8
//	enum                the text of its symbols
//	decimal             only compared with null
//
// # Comparisons
//
// Integers and floating-point numbers compare by value, exactly. NaN is
// unequal to everything, also to itself, and neither less nor greater. Text
// compares only with text and booleans only with booleans.
//
// x == null and x != null tell whether there is a value. Any other comparison,
// and in, contains, startsWith, endsWith and matches, is false where a value is
// missing; so are != and a boolean field by itself. not, or !, turns a condition
// around: not (x == 1) holds where x is null, x != 1 does not.
//
// # Computed values
//
// Arithmetic and functions compute with 64-bit integers, which wrap around,
// and doubles; / and ** give doubles, and a division by zero an infinity or NaN.
// What is computed of a missing value is missing, and so is what cannot be
// computed: a remainder of zero, a number of a text that is none.
package where
