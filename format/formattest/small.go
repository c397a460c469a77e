package formattest

import "encoding/binary"

// SmallSchema has most kinds of columns: simple ones, an optional one, an enum, a decimal, and
// an array of records with nulls and an array in them.
const SmallSchema = `{"type":"record","name":"R","fields":[
	{"name":"id","type":"long"},
	{"name":"ok","type":"boolean"},
	{"name":"score","type":["null","double"]},
	{"name":"name","type":"string"},
	{"name":"suit","type":{"type":"enum","name":"S","symbols":["spades","hearts"]}},
	{"name":"price","type":{"type":"fixed","name":"P","size":3,"logicalType":"decimal","precision":5,"scale":2}},
	{"name":"hops","type":{"type":"array","items":{"type":"record","name":"H","fields":[
		{"name":"port","type":"int"},{"name":"none","type":"null"},{"name":"tags","type":{"type":"array","items":"null"}},
		{"name":"host","type":["string","null"]}]}}}]}`

// SmallRows returns n rows of SmallSchema, with ascending ids.
func SmallRows(n int) (rows [][]byte) {
	for i := range n {
		row := append(binary.AppendVarint(nil, int64(i)), byte(i&1))
		if i%3 == 0 {
			row = append(row, 0)
		} else {
			row = append(row, 2, 0, 0, 0, 0, 0, 0, byte(i), 0x40)
		}
		row = append(row, byte(2*(i%16)))
		row = append(row, "abcdefghijklmnop"[:i%16]...)
		row = append(row, byte(2*(i&1)), 0, byte(i), byte(i))
		if i%4 > 0 {
			row = append(row, byte(2*(i%4)))
			for k := range i % 4 {
				row = append(row, byte(2*k), 4, 0)
				if k == 1 {
					row = append(row, 2)
				} else {
					row = append(row, 0, 6, 'a', 'b', byte('0'+i%10))
				}
			}
		}
		rows = append(rows, append(row, 0))
	}
	return rows
}
