// Package rowkey makes keys of rows: bytes that sort like the values of one or more
// fields, compared one after the other.
//
//	int, long       8 bytes, big-endian, the sign bit flipped; an int as the long of its value
//	float, double   8 bytes of the double: positive ones with the sign bit flipped, negative
//	                ones complemented; -0 is 0, and NaN comes last
//	boolean         1 byte
//	decimal         2 bytes, big-endian, then the shortest two's complement number of its
//	                unscaled value: 0x8000 plus its length, or 0x7FFF minus it if negative
//	string, bytes,  the last field of a key unchanged; others with 00 FF for each byte 0
//	fixed, enum     and 00 00 at the end; an enum as its symbol
//
// Other logical types do not count: a date is an int. So the key of one text field is
// that text, and begins with each prefix of it. A row in which one of the fields is
// null has no key.
package rowkey
