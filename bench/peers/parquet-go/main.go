// The parquet-go peer converts an Avro file to Parquet with hamba/avro and
// parquet-go: IN.avro OUT.parquet. A row is a Go struct that is made from the
// Avro schema.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"reflect"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
	"github.com/parquet-go/parquet-go"
)

func main() {
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func convert(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	rows, err := ocf.NewDecoder(bufio.NewReader(in))
	if err != nil {
		return err
	}
	rowType, err := goType(rows.Schema())
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	row := reflect.New(rowType)
	w := parquet.NewWriter(out, parquet.SchemaOf(row.Interface()), parquet.Compression(&parquet.Snappy))
	for rows.HasNext() {
		row.Elem().SetZero()
		if err := rows.Decode(row.Interface()); err != nil {
			return err
		}
		if err := w.Write(row.Interface()); err != nil {
			return err
		}
	}
	if err := rows.Error(); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}

// goType returns the Go type that both libraries use for a value of the schema.
func goType(s avro.Schema) (reflect.Type, error) {
	switch s := s.(type) {
	case *avro.RecordSchema:
		var fields []reflect.StructField
		for i, f := range s.Fields() {
			t, err := goType(f.Type())
			if err != nil {
				return nil, err
			}
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", i), Type: t,
				Tag: reflect.StructTag(fmt.Sprintf(`avro:%q parquet:%q`, f.Name(), f.Name()+unit(f.Type()))),
			})
		}
		return reflect.StructOf(fields), nil
	case *avro.ArraySchema:
		t, err := goType(s.Items())
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(t), nil
	case *avro.MapSchema:
		t, err := goType(s.Values())
		if err != nil {
			return nil, err
		}
		return reflect.MapOf(reflect.TypeFor[string](), t), nil
	case *avro.UnionSchema:
		if !s.Nullable() {
			break
		}
		_, value := s.Indices()
		t, err := goType(s.Types()[value])
		if err != nil {
			return nil, err
		}
		return reflect.PointerTo(t), nil
	}
	simple := map[avro.Type]reflect.Type{
		avro.Boolean: reflect.TypeFor[bool](), avro.Int: reflect.TypeFor[int32](), avro.Long: reflect.TypeFor[int64](),
		avro.Float: reflect.TypeFor[float32](), avro.Double: reflect.TypeFor[float64](),
		avro.String: reflect.TypeFor[string](), avro.Enum: reflect.TypeFor[string](), avro.Bytes: reflect.TypeFor[[]byte](),
	}
	if t, ok := simple[s.Type()]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("no Go type for %s", s.Type())
}

// unit returns the suffix of a field's tag if the field has times.
func unit(s avro.Schema) string {
	p, ok := s.(*avro.PrimitiveSchema)
	if ok && p.Logical() != nil && p.Logical().Type() == avro.TimestampMillis {
		return ",timestamp(millisecond)"
	}
	return ""
}
