// Package bloom reads, asks and writes BloomFiles: CFiles of Bloom filters over the keys
// of a Kudu rowset, which tell of most keys that the rowset does not have them, and never
// of one that it has.
//
// # File
//
// A BloomFile is a CFile (see package cfile) of type BINARY, without compression, rows and
// positional index. Each block is the filter of as many keys as it is designed for, in
// the order of the keys; the last one may hold fewer. The value index has the first key
// of each block, shortened as in other CFiles.
//
//	block   | length of header: 4 bytes | header | bitmap | checksum: 4 bytes |
//
//	header  BloomBlockHeaderPB: 1 num_hash_functions int32
//
// Integers are little-endian. Bit b of the bitmap is bit b%8 of byte b/8, from the lowest.
// A key sets the bits (h1 + i·h2 mod 2³²) mod bits, with i from 0 to the number of hash
// functions less one. h1 and h2 are the low and the high half of the CityHash64 of the
// encoded key (cfile.AppendKey, cfile.AppendComposite).
//
// # Hash
//
// CityHash64 is not one function: its authors changed it with each version. Kudu has an
// early one with constants that none of the published ones have, so that libraries of
// CityHash do not serve. The function here is checked against Kudu's own, in libgutil.so
// of Kudu 1.18.1, for keys of all lengths that it tells apart.
package bloom
