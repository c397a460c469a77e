package where

// op is the kind of a node.
type op uint8

const (
	opPath    op = iota // a field: parts
	opConst             // value
	opCall              // function text of kids
	opUnary             // sign text of a kid
	opBinary            // arithmetic text of two kids
	opCompare           // operator text of two kids
	opMatch             // search operator text, such as contains, of two kids, or three with ESCAPE
	opAnd               // all kids are true
	opOr                // a kid is true
	opNot               // the kid is false
	opIn                // the first kid is one of the other kids
	opRange             // the first kid is an integer from the second to the third
	opHas               // the first kid is an item of the second
	opAny               // an item of the first kid meets the second
)

// node is a part of a condition.
type node struct {
	op       op
	text     string
	kids     []*node
	parts    []part
	value    *value
	double   bool // the node is a text in double quotes
	pos, end int  // range of the node in the condition's text
	height   int  // height of the tree below the node
}

// part is one of the names, or keys in brackets, that lead to a field.
type part struct {
	text string
	key  bool
}

// maxHeight bounds how deep conditions nest.
const maxHeight = 250

// condition reports whether the form of the node makes it true or false.
func (n *node) condition() bool { return n.op >= opCompare }

// hasFields reports whether a node names fields.
func (n *node) hasFields() bool {
	if n.op == opPath {
		return true
	}
	for _, k := range n.kids {
		if k.hasFields() {
			return true
		}
	}
	return false
}
