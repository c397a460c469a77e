package hdfs

import (
	"fmt"
	"reflect"
	"unsafe"

	client "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// caller makes calls to the name node.
type caller interface {
	Execute(method string, request, response proto.Message) error
}

// callerOf returns the connection to the name node that a client of the library keeps in a
// private field. The library cannot rename without replacing, does not say whether a file is
// complete, and drops most of a name node's message. Its public functions do not give access
// to the connection: a dialer gets only bytes, which SASL may have encrypted, and the package
// rpc is internal. The alternative would be another protocol client with its own Kerberos
// handshake. TestPrivateField fails if a version of the library keeps the connection elsewhere.
func callerOf(c *client.Client) (caller, error) {
	field, err := privateField(c, "namenode")
	if err != nil {
		return nil, err
	}
	rpc, ok := field.Interface().(caller)
	if !ok {
		return nil, fmt.Errorf("the HDFS client's name node is a %s, which cannot be called", field.Type())
	}
	return rpc, nil
}

// setBlocks sets the blocks that a reader of the library keeps in a private field. The library has
// no public way to ask a data node for a part of a block. TestPrivateField fails if a version of
// the library keeps the blocks elsewhere.
func setBlocks(r *client.FileReader, blocks protoreflect.List) error {
	field, err := privateField(r, "blocks")
	if err != nil {
		return err
	}
	if field.Kind() != reflect.Slice {
		return fmt.Errorf("the HDFS client's blocks are a %s", field.Type())
	}
	all := reflect.MakeSlice(field.Type(), blocks.Len(), blocks.Len())
	for i := range blocks.Len() {
		block := reflect.ValueOf(blocks.Get(i).Message().Interface())
		if !block.Type().AssignableTo(field.Type().Elem()) {
			return fmt.Errorf("the HDFS client's blocks are a %s, not of %s", field.Type(), block.Type())
		}
		all.Index(i).Set(block)
	}
	field.Set(all)
	return nil
}

// streamLost reports whether the stream of a data node failed during the last read, which returned
// bytes. The library keeps the stream in a private field of a private field, and does not say that it
// failed. TestChecksumOfData fails if a version of the library keeps it elsewhere.
func streamLost(r *client.FileReader) (bool, error) {
	block, err := privateField(r, "blockReader")
	if err != nil || block.IsNil() {
		return false, err
	}
	stream, err := privateField(block.Interface(), "stream")
	if err != nil {
		return false, err
	}
	return stream.IsNil(), nil
}

// clientName returns the name under which a connection holds the leases of files.
func clientName(rpc caller) (string, error) {
	value := reflect.ValueOf(rpc)
	if value.Kind() == reflect.Pointer && value.Elem().Kind() == reflect.Struct {
		if field := value.Elem().FieldByName("ClientName"); field.Kind() == reflect.String {
			return field.String(), nil
		}
	}
	return "", fmt.Errorf("the HDFS client's connection is a %s without a name", value.Type())
}

// newWriter returns a writer of the library for a file that a call created. TestPrivateField fails
// if a version of the library keeps its fields elsewhere.
func newWriter(c *client.Client, name string, replication int, blockSize int64, id uint64) (*client.FileWriter, error) {
	w := new(client.FileWriter)
	for field, value := range map[string]any{"client": c, "name": name, "replication": replication, "blockSize": blockSize, "fileId": &id} {
		at, err := privateField(w, field)
		if err != nil {
			return nil, err
		}
		if at.Type() != reflect.TypeOf(value) {
			return nil, fmt.Errorf("the HDFS client's writer has a field %s of type %s", field, at.Type())
		}
		at.Set(reflect.ValueOf(value))
	}
	return w, nil
}

// privateField returns a field of a struct of the library, which can be set.
func privateField(of any, name string) (reflect.Value, error) {
	field := reflect.ValueOf(of).Elem().FieldByName(name)
	if !field.IsValid() {
		return field, fmt.Errorf("the HDFS client has no field %s", name)
	}
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem(), nil
}
