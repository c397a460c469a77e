// Package where decides which rows meet a condition, one batch of columns at a time.
//
//	score > 0.9 AND size IS NOT NULL
//	folder in ("INBOX", "SENT") || lower(subject) like '%urgent%'
//	date between '2025-01-01' and '2025-01-31T12:00:00Z' and not seen
//	any(received, host = 'mx1.example.org') and headers['X-Spam'] is null
//
// The language has the words of SQL, in any case, and the signs of C. From the loosest
// to the tightest: or ||, and &&, not, the comparisons, + -, * / %, the signs - + !
// before a value, ** ^. Text stands in single quotes, where two of them mean one, or in
// double quotes with the escapes of Go. A mistake is an *Error with its place: an
// unknown field, values whose types do not compare, two constants, a symbol that an
// enum does not have.
//
// # Fields
//
// A field is named as in the schema, through records with dots. `odd name` and
// $env["odd name"] are fields whose name is not an identifier or is a word of the
// language. A union of null and one type is a field of that type. In a union of several
// types the name of one follows, as in code.int. For an array, any(array, condition)
// holds if an item meets the condition. Names in the condition are fields of the item,
// and # is the item itself; items of a map have a key and a value. 'x' in array means
// any(array, # = 'x'). map['key'] is the value of a key: the last one if there are
// several, null if there is none.
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
// Conditions are true, false or unknown, as in SQL. A comparison with a missing value
// is unknown, and so is its negation. Rows are selected if the condition is true. x =
// null means x is null. x not in (1, null) is never true. The condition on an item
// holds or does not. any() of a missing array is unknown.
//
// Integers and floating-point numbers compare by value, exactly. NaN is unequal to
// everything, itself included, and neither less nor greater: not (x < 1) holds for it.
//
// # Computed values
//
// Arithmetic and functions are computed by github.com/expr-lang/expr, with 64-bit
// integers, which wrap around, and doubles. / and ** give doubles, and a division by
// zero gives an infinity or NaN. Dates and times count as the stored numbers. A value
// computed from a missing value is missing. So is one that cannot be computed: a
// remainder of zero, or the number of a text that is not numeric.
//
// # How it works
//
// parseTree makes a tree, and translator turns it into tests of columns. Negations move
// down to the tests. A test passes if it is true, or false if it is negated, and in
// neither case if a value is missing. A scope has the fields that are named relative to
// the rows, or to the items of an array, and loads some thousand of them at a time.
package where
