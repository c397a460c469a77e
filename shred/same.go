package shred

import "maps"

// Same reports whether rows of the schemas mean the same: the schemas are equal but
// for doc, the order of keys, and how much of its name a type is called by.
func (s *Schema) Same(other *Schema) bool {
	return s.canonical == other.canonical || s.Identity() == other.Identity()
}

// Identity returns a text that is equal for schemas that are the same in the sense
// of Same: Canonical with all names in full. Each call makes it anew.
func (s *Schema) Identity() string {
	raw, err := decodeJSON(s.text)
	if err != nil {
		return s.canonical // which cannot be: the text was parsed before
	}
	return jsonText(fullNames(withoutDoc(raw), s.root))
}

// fullNames copies the JSON of a type with the full names of n and the types in it
// in place of names and namespaces.
func fullNames(raw any, n *Node) any {
	switch raw := raw.(type) {
	case string:
		if n.Name != "" {
			return n.Name
		}
	case []any:
		list := make([]any, len(raw))
		for i := range raw {
			list[i] = fullNames(raw[i], n.Branches[i])
		}
		return list
	case map[string]any:
		return fullObject(maps.Clone(raw), n)
	}
	return raw
}

// fullObject puts full names into the JSON of a type that is an object.
func fullObject(object map[string]any, n *Node) any {
	text, _ := object["type"].(string)
	if _, kind := parseKind(text); !kind { // it is another type, or the name of one
		object["type"] = fullNames(object["type"], n)
		return object
	}
	switch n.Kind {
	case KindArray:
		object["items"] = fullNames(object["items"], n.Items)
	case KindMap:
		object["values"] = fullNames(object["values"], n.Items)
	}
	if n.Name == "" {
		return object
	}
	object["name"] = n.Name
	delete(object, "namespace")
	if _, ok := object["aliases"]; ok {
		object["aliases"] = n.Aliases
	}
	if n.Kind == KindRecord {
		object["fields"] = fullFields(object["fields"], n)
	}
	return object
}

func fullFields(raw any, n *Node) any {
	list, _ := raw.([]any)
	fields := make([]any, len(list))
	for i := range list {
		field, _ := list[i].(map[string]any)
		field = maps.Clone(field)
		field["type"] = fullNames(field["type"], n.Fields[i].Type)
		fields[i] = field
	}
	return fields
}
