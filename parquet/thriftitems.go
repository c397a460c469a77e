package parquet

import (
	"encoding/binary"
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

// thriftItems walks a document that unmarshal accepts, and calls visit for each item. t is the
// type of the document. At bytes that are no document it stops.
func thriftItems(b []byte, t reflect.Type, visit func(*thriftItem)) {
	w := itemWalk{thriftWalk: thriftWalk{b: b}, visit: visit}
	w.fields(t, "", 0)
}

type itemWalk struct {
	thriftWalk
	visit func(*thriftItem)
}

// fields walks the fields of a structure. It returns false if the bytes are cut.
func (w *itemWalk) fields(t reflect.Type, name string, depth int) bool {
	number, fields := int16(0), fieldsOf(t)
	for depth <= maxThriftDepth {
		item := thriftItem{from: w.at, depth: depth, name: name}
		head, err := w.byte()
		if err != nil {
			return false
		}
		if head == 0 {
			item.to = w.at
			w.visit(&item)
			return true
		}
		if number += int16(head >> 4); head>>4 == 0 {
			n, err := w.varint()
			if err != nil {
				return false
			}
			number = int16(n>>1) ^ -int16(n&1)
		}
		item.kind = head & 0xf
		item.index, item.name = int(number), "field"
		if number >= 0 && int(number) < len(fields) && fields[number].typ != nil {
			item.name, item.typ = fields[number].name, fields[number].typ
		}
		if item.kind == thriftTrue || item.kind == thriftFalse {
			item.number, item.to = int64(thriftFalse-item.kind), w.at
			w.visit(&item)
			continue
		}
		if !w.item(&item) {
			return false
		}
	}
	return false
}

// item walks a value.
func (w *itemWalk) item(item *thriftItem) bool {
	switch item.kind {
	case thriftStruct:
		item.to = w.at
		w.visit(item)
		return w.fields(item.typ, item.name, item.depth+1)
	case thriftList, thriftSet:
		return w.items(item)
	case thriftBinary:
		n, err := w.varint()
		if err != nil || w.skip(n) != nil {
			return false
		}
		item.bytes = w.b[w.at-int(n) : w.at]
	case thriftDouble:
		if w.skip(8) != nil {
			return false
		}
		item.number = int64(binary.LittleEndian.Uint64(w.b[w.at-8:]))
	case thriftByte, thriftTrue, thriftFalse:
		n, err := w.byte()
		if err != nil {
			return false
		}
		item.number = int64(int8(n))
		if item.kind != thriftByte {
			item.number = int64(thriftFalse - n)
		}
	default:
		n, err := w.varint()
		if err != nil {
			return false
		}
		item.number = int64(n>>1) ^ -int64(n&1)
	}
	item.to = w.at
	w.visit(item)
	return true
}

// items walks a list.
func (w *itemWalk) items(list *thriftItem) bool {
	head, err := w.byte()
	if err != nil {
		return false
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return false
		}
	}
	if list.typ != nil && list.typ.Kind() == reflect.Slice {
		list.typ = inner(list.typ.Elem())
	}
	list.number, list.to = int64(min(n, math.MaxInt32)), w.at
	w.visit(list)
	for i := range list.number {
		item := thriftItem{from: w.at, depth: list.depth + 1, kind: head & 0xf, typ: list.typ, index: int(i)}
		if !w.item(&item) {
			return false
		}
	}
	return true
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

// documentMemory returns about how much memory unmarshal needs for a document of type t.
func documentMemory(b []byte, t reflect.Type) int64 {
	n := int64(len(b)) + int64(t.Size())
	w := thriftWalk{b: b}
	if w.structure(0) != nil {
		return n // it is refused before memory is allocated
	}
	thriftItems(b, t, func(i *thriftItem) {
		if i.typ == nil {
			return
		}
		switch i.kind {
		case thriftList, thriftSet:
			n += i.number * int64(i.typ.Size())
		case thriftStruct:
			n += 16 // if it is a member of a union
		}
	})
	return n
}
