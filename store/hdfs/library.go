package hdfs

import (
	"fmt"
	"strings"

	client "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// fields are the fields of a message by name. A value has the Go type of its field. The value
// of a field that is a message has the type fields.
type fields map[string]any

// messagesOf returns the request of a method, with its fields set, and an empty
// response. The library's own types are internal to it, but registered.
func messagesOf(method string, args fields) (request, response proto.Message, err error) {
	prefix := "hadoop.hdfs." + strings.ToUpper(method[:1]) + method[1:]
	var pair [2]protoreflect.Message
	for i, suffix := range []string{"RequestProto", "ResponseProto"} {
		m, err := messageOf(prefix + suffix)
		if err != nil {
			return nil, nil, err
		}
		pair[i] = m.Message
	}
	if err := fill(pair[0], args); err != nil {
		return nil, nil, err
	}
	return pair[0].Interface(), pair[1].Interface(), nil
}

// messageOf returns an empty message of a type.
func messageOf(name string) (answer, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return answer{}, fmt.Errorf("the HDFS client does not know %s: %w", name, err)
	}
	return answer{t.New()}, nil
}

func fill(m protoreflect.Message, args fields) error {
	for name, value := range args {
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return fmt.Errorf("%s has no field %s", m.Descriptor().FullName(), name)
		}
		if inner, ok := value.(fields); ok {
			if err := fill(m.Mutable(field).Message(), inner); err != nil {
				return err
			}
			continue
		}
		m.Set(field, protoreflect.ValueOf(value))
	}
	return nil
}

// answer is a message from a node.
type answer struct{ protoreflect.Message }

// field returns a field's value, or its default.
func (a answer) field(name protoreflect.Name) protoreflect.Value {
	return a.Get(a.Descriptor().Fields().ByName(name))
}

// message returns a field that is a message, and whether it is set.
func (a answer) message(name protoreflect.Name) (answer, bool) {
	field := a.Descriptor().Fields().ByName(name)
	return answer{a.Get(field).Message()}, a.Has(field)
}

// status returns a field that describes a file or directory, or nil if the field is not set.
func (a answer) status(name protoreflect.Name) *client.FileStatus {
	m, ok := a.message(name)
	if !ok {
		return nil
	}
	status, _ := m.Interface().(*client.FileStatus)
	return status
}
