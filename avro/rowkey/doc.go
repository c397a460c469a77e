// Package rowkey makes keys of rows: bytes that sort like the values of one or more
// fields, compared one field after the other.
//
//	int, long       8 bytes of a long, big-endian, with the sign bit flipped
//	float, double   8 bytes of a double: positive numbers with the sign bit flipped,
//	                negative numbers complemented; -0 is 0, and NaN comes last
//	boolean         1 byte
//	decimal         2 bytes, big-endian: 0x8000 plus the length of the number that follows,
//	                or 0x7FFF minus the length if the number is negative; then the unscaled
//	                value as the shortest two's complement number
//	string, bytes,  the bytes of the value, or of an enum's symbol; if another field
//	fixed, enum     follows, with 00 FF for each byte 0, and 00 00 at the end
//
// Other logical types have the key of the annotated type: a date has the key of an int.
// The key of one text field is the text itself, and begins with each prefix of the text.
// A row in which one of the fields is null has no key.
package rowkey
