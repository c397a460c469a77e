// Package where decides which rows meet a condition, one batch of columns at a time.
//
//	score > 0.9 AND size IS NOT NULL
//	folder in ("INBOX", "SENT") || lower(subject) like '%urgent%'
//	date between '2025-01-01' and '2025-01-31T12:00:00Z' and not seen
//	any(received, host = 'mx1.example.org') and headers['X-Spam'] is null
//
// The language has the words of SQL, in upper or lower case, and the operators of C. From
// the loosest to the tightest, they are: or ||, and &&, not, the comparisons, + -, * / %,
// the signs - + ! before a value, ** ^. Text is in single quotes, where two quotes mean
// one, or in double quotes with the escapes of Go. For a mistake, the error is an *Error
// with the place of the mistake: for example an unknown field, values whose types do not
// compare, two constants, or a symbol that an enum does not have.
//
// # Fields
//
// A field is named as in the schema, with dots between records and their fields. A name
// that is not an identifier, or is a word of the language, is written `odd name` or
// $env["odd name"]. A union of null and one type is a field of that type. For a union of
// several types, the name of a type follows the field, as in code.int. For an array,
// any(array, condition) is true if an item meets the condition. Names in that condition
// are fields of the item, and # is the item itself. Items of a map have the fields key
// and value. 'x' in array means any(array, # = 'x'). map['key'] is the value of a key:
// the last value if the key occurs several times, and null if it does not occur.
//
//	boolean             a condition by itself, or compared with true and false
//	int, long           numbers
//	float, double       numbers; a constant with a point or an exponent is rounded
//	                    to the type
//	decimal             numbers, which can only be compared, with constants of any
//	                    precision
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
// Conditions are true, false or unknown, as in SQL. A comparison with a missing value
// is unknown, and so is the negation of the comparison. Rows are selected if the
// condition is true. x = null means x is null. x not in (1, null) is never true. The
// condition on an item of any() is either true or not. any() of a missing array is
// unknown.
//
// Integers and floating-point numbers are compared by their exact values. NaN is not
// equal to any number, not even to NaN, and neither less nor greater than any number: if
// x is NaN, not (x < 1) is true.
//
// # Computed values
//
// Arithmetic and functions are computed by github.com/expr-lang/expr, with 64-bit
// integers, which wrap around, and doubles. / and ** give doubles, and a division by
// zero gives an infinity or NaN. Dates and times are the stored numbers. A value
// computed from a missing value is missing. A value that cannot be computed is missing
// as well: a remainder of a division by zero, or the number of a text that is not
// numeric.
//
// # How it works
//
// parseTree makes a tree, and translator turns the tree into tests of columns. Negations
// move down to the tests. A test passes if its comparison is true, and a negated test if
// the comparison is false. If a value is missing, neither passes. A scope has the fields
// of the rows, or of the items of an array, and loads the values of some thousand rows or
// items at a time.
package where
