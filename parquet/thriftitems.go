package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/rowtocol/rowtocol/format/dump"
)

// thriftItem is a part of a document: a value with the header of its field, the header of a
// structure or of a list, or the end of a structure.
type thriftItem struct {
	from, to int // range of bytes
	depth    int
	name     string // of the field, or of the structure that ends; "" for an item of a list
	index    int    // number of the field, or of the item
	kind     byte   // type in the compact protocol; 0 for the end of a structure
	number   int64  // an integer, a boolean, the bits of a double, or the length of a list
	bytes    []byte
	typ      reflect.Type // of the value, or of a list's items; nil if unknown
}

// thriftWalk walks a document without decoding it, and checks its lengths.
type thriftWalk struct {
	b       []byte
	at      int
	structs int              // number of structures in lists
	memory  int64            // that the items whose types are known take once they are decoded, about
	visit   func(thriftItem) // may be nil
}

const (
	// maxThriftDepth is the most levels of structures and lists. Parquet needs eight.
	maxThriftDepth = 16
	// leastThrift is the least size in bytes of a structure in a list of Parquet's documents.
	leastThrift = 4
)

var (
	errThriftCut   = errors.New("it ends too early")
	errThriftDepth = fmt.Errorf("more than %d levels", maxThriftDepth)
)

// The types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// fields walks the fields of a structure, up to a stop byte.
func (w *thriftWalk) fields(t reflect.Type, name string, depth int) error {
	//guard: bounds the depth of a document
	if depth > maxThriftDepth {
		return errThriftDepth
	}
	number, fields := int16(0), fieldsOf(t)
	for {
		item := thriftItem{from: w.at, depth: depth, name: name}
		head, err := w.byte()
		if err != nil {
			return err
		}
		if head == 0 {
			w.found(&item)
			return nil
		}
		if number += int16(head >> 4); head>>4 == 0 {
			n, err := w.integer()
			if err != nil {
				return err
			}
			number = int16(n)
		}
		item.kind, item.index, item.name = head&0xf, int(number), "field"
		if number >= 0 && int(number) < len(fields) && fields[number].typ != nil {
			item.name, item.typ = fields[number].name, fields[number].typ
		}
		if item.kind == thriftTrue || item.kind == thriftFalse { // which have no bytes
			item.number = int64(thriftFalse - item.kind)
			w.found(&item)
		} else if err := w.item(&item); err != nil {
			return err
		}
	}
}

// item walks a value. In a list, a boolean has a byte.
func (w *thriftWalk) item(item *thriftItem) (err error) {
	var b []byte
	switch item.kind {
	case thriftStruct:
		w.found(item)
		return w.fields(item.typ, item.name, item.depth+1)
	case thriftList, thriftSet:
		return w.list(item)
	case thriftBinary:
		var n uint64
		if n, err = w.varint(); err == nil {
			item.bytes, err = w.take(n)
		}
	case thriftDouble:
		if b, err = w.take(8); err == nil {
			item.number = int64(binary.LittleEndian.Uint64(b))
		}
	case thriftByte:
		if b, err = w.take(1); err == nil {
			item.number = int64(int8(b[0]))
		}
	case thriftTrue, thriftFalse:
		if b, err = w.take(1); err == nil {
			item.number = int64(thriftFalse - b[0])
		}
	case thriftI16, thriftI32, thriftI64:
		item.number, err = w.integer()
	default:
		err = fmt.Errorf("a value of type %d, which Parquet does not use", item.kind)
	}
	if err == nil {
		w.found(item)
	}
	return err
}

// list walks a list.
func (w *thriftWalk) list(list *thriftItem) error {
	//guard: bounds the depth of lists in lists
	if list.depth >= maxThriftDepth {
		return errThriftDepth
	}
	head, err := w.byte()
	if err != nil {
		return err
	}
	n, kind := uint64(head>>4), head&0xf
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	//guard: rejects a list with more items than bytes
	if n > uint64(len(w.b)-w.at) {
		return fmt.Errorf("a list of %d items in %d bytes", n, len(w.b)-w.at)
	}
	if kind == thriftStruct {
		w.structs += int(n)
		//guard: rejects a list whose items need far more memory than bytes
		if w.structs > len(w.b)/leastThrift+1 {
			return fmt.Errorf("%d structures in %d bytes", w.structs, len(w.b))
		}
	}
	if list.typ != nil && list.typ.Kind() == reflect.Slice {
		list.typ = inner(list.typ.Elem())
	}
	list.number = int64(n)
	w.found(list)
	var item thriftItem // one for all, because it is on the heap
	for i := range int(n) {
		item = thriftItem{from: w.at, depth: list.depth + 1, kind: kind, typ: list.typ, index: i}
		if err := w.item(&item); err != nil {
			return err
		}
	}
	return nil
}

// found ends an item, or the header of one.
func (w *thriftWalk) found(item *thriftItem) {
	if item.typ != nil {
		switch item.kind {
		case thriftList, thriftSet:
			w.memory += item.number * int64(item.typ.Size())
		case thriftStruct:
			w.memory += 16 // if it is a member of a union
		}
	}
	if w.visit != nil {
		item.to = w.at
		w.visit(*item)
	}
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at == len(w.b) {
		return 0, errThriftCut
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		return 0, errThriftCut
	}
	w.at += n
	return v, nil
}

func (w *thriftWalk) integer() (int64, error) {
	n, err := w.varint()
	return int64(n>>1) ^ -int64(n&1), err
}

func (w *thriftWalk) take(n uint64) ([]byte, error) {
	//guard: rejects a value that reaches beyond its document
	if n > uint64(len(w.b)-w.at) {
		return nil, errThriftCut
	}
	w.at += int(n)
	return w.b[w.at-int(n) : w.at], nil
}

// thriftField is a field of a structure, or a member of a union.
type thriftField struct {
	name string
	typ  reflect.Type // nil for a field that is not known
}

// structures has the fields of each type of structure, by their numbers.
var structures sync.Map

// fieldsOf returns the fields of a structure by their numbers, as far as they are known.
func fieldsOf(t reflect.Type) []thriftField {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if all, ok := structures.Load(t); ok {
		return all.([]thriftField)
	}
	var all []thriftField
	add := func(number int, f thriftField) {
		all = append(all, make([]thriftField, max(number+1-len(all), 0))...)
		all[number] = f
	}
	if u, ok := reflect.New(t).Interface().(interface{ UnionMembers() []thrift.UnionMember }); ok {
		for _, m := range u.UnionMembers() {
			member := reflect.TypeOf(m).Elem()
			add(int(m.FieldID()), thriftField{member.Name(), member})
		}
	} else {
		for i := range t.NumField() {
			f := t.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("thrift"), ",")
			if number, err := strconv.Atoi(tag); err == nil {
				add(number, thriftField{f.Name, inner(f.Type)})
			}
		}
	}
	structures.Store(t, all)
	return all
}

// inner returns the type of a field without thrift.Null.
func inner(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Null[") {
		return t.Field(0).Type
	}
	return t
}

// label describes an item, as dumps show it.
func (i *thriftItem) label() string {
	if i.kind == 0 {
		return strings.Repeat("  ", max(i.depth-1, 0)) + "end"
	}
	name := strings.Repeat("  ", i.depth) + i.name
	switch {
	case i.name == "":
		name += fmt.Sprintf("item %d", i.index)
	case i.typ == nil:
		name += fmt.Sprintf(" %d", i.index)
	}
	switch i.kind {
	case thriftStruct:
		return name
	case thriftList, thriftSet:
		return fmt.Sprintf("%s: %d items", name, i.number)
	case thriftBinary:
		return name + ": " + dump.Quote(i.bytes)
	case thriftDouble:
		return fmt.Sprintf("%s: %v", name, math.Float64frombits(uint64(i.number)))
	case thriftTrue, thriftFalse:
		return fmt.Sprintf("%s: %v", name, i.number == 1)
	case thriftI32:
		if i.name == "CRC" {
			return fmt.Sprintf("%s: %08x", name, uint32(i.number))
		}
	}
	return name + ": " + i.text()
}

// text returns an integer, with its name if the type names it.
func (i *thriftItem) text() string {
	if i.typ != nil && i.typ.Kind() == reflect.Int32 && i.number == int64(int32(i.number)) {
		v := reflect.New(i.typ).Elem()
		v.SetInt(i.number)
		if s, ok := v.Interface().(fmt.Stringer); ok {
			return s.String()
		}
	}
	return fmt.Sprint(i.number)
}
