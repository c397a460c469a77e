// Package where decides which rows meet a condition, a batch of columns at a
// time.
//
//	score > 0.9 AND size IS NOT NULL
//	folder in ("INBOX", "SENT") || lower(subject) like '%urgent%'
//	date between '2025-01-01' and '2025-01-31T12:00:00Z' and not seen
//	any(received, host = 'mx1.example.org') and headers['X-Spam'] is null
//
// The language has the words of SQL, in any case, and the signs of C. From the
// loosest to the tightest: or ||, and &&, not, the comparisons, + -, * / %, the
// signs - + ! before a value, ** ^. Text stands in single quotes, of which two in
// it are one, or in double quotes with the escapes of Go. What cannot be meant is
// an *Error with its place: names that are no field, values of types that do not
// compare, two constants, symbols that an enum does not have.
//
// # Fields
//
// A field is named as in the schema, through records with dots. `odd name` and
// $env["odd name"] are fields whose name is not an identifier or is a word of the
// language. Of a union of null and one type it is the value; of a union of several
// the name of one follows, as in code.int. Of an array, any(array, condition)
// holds where an item meets the condition, whose names are those of the item's
// fields, or # for the item itself; items of a map have a key and a value. 'x' in
// array is any(array, # = 'x'). map['key'] is the value of a key, the last if
// there are several, null if there is none.
//
//	boolean             a condition by itself, or compared with true and false
//	int, long           numbers
//	float, double       numbers; of a constant with a point or an exponent, the
//	                    nearest of the type
//	decimal             numbers, only compared, with constants of any precision
//	string              text, ordered by its bytes
//	bytes, fixed        compared with x'0aff', ordered by their bytes; len, string
//	                    and other functions take them as UTF-8
//	enum                the text of its symbols
//	date, timestamps    texts of dates, with a time of day or without, in UTC if
//	                    there is no zone; DATE '...', TIMESTAMP '...', date("...");
//	                    each other; the numbers that are stored
//	local timestamps    the same, of texts without a zone, and not timestamps
//	times of day        texts, each other, the numbers that are stored
//	uuid                text, in any case
//
// # Logic
//
// Conditions are true, false or unknown, as in SQL: a comparison with a missing
// value is unknown, its negation too, and rows are selected where the condition is
// true. x = null is x is null. x not in (1, null) is never true. The condition on
// an item holds or does not; any of an array that is missing is unknown.
//
// Integers and floating-point numbers compare by value, exactly. NaN is unequal to
// everything, also to itself, and neither less nor greater: not (x < 1) holds for
// it.
//
// # Computed values
//
// Arithmetic and functions are computed by github.com/expr-lang/expr, with 64-bit
// integers, which wrap around, and doubles; / and ** give doubles, and a division
// by zero an infinity or NaN. Dates and times are the numbers that are stored.
// What is computed of a missing value is missing, and so is what cannot be
// computed: a remainder of zero, a number of a text that is none.
//
// # How it works
//
// parseTree makes a tree, translator turns it into tests of columns: negations are
// carried down to them, so that a test has two values and holds where it is true,
// or false if it is negated, and in neither case where a value is missing. A scope
// has the fields that are named relative to the rows, or to the items of an array,
// of which it loads some thousands at a time.
package where
