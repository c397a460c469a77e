// Package rowkey makes keys of rows: bytes whose order is that of the values of one or more
// fields, compared one after the other.
//
//	int, long       8 bytes, big-endian, the sign bit flipped; an int as the long of its value
//	float, double   8 bytes of the double: positive ones with the sign bit flipped, negative
//	                ones complemented; -0 is 0, and what is no number comes last
//	boolean         1 byte
//	decimal         2 bytes, big-endian, and the shortest two's complement number that is its
//	                unscaled value: 0x8000 and its length, or, of negative ones, 0x7FFF less that
//	string, bytes,  the last field of a key as it is; else each byte 0 as 00 FF, and 00 00
//	fixed, enum     after the end; an enum is its symbol
//
// Other logical types do not count: a date is an int. So a key of one field that is text is
// that text, which begins with each of its prefixes. A row in which one of the fields is null
// has no key.
package rowkey
