package manifest

// InputsName is the document of inputs in a destination that were read whole to find
// out what they are, such as those of a tree that was touched: they are not read again
// while they have that time. It can go away at any moment.
const InputsName = "_inputs"

// Inputs are files that were read, with the CRC-32C of all their bytes.
type Inputs struct {
	Version int     `json:"version"`
	Inputs  []Input `json:"inputs"`
}

// Encode returns the document's bytes.
func (i *Inputs) Encode() ([]byte, error) { return encode(i) }

// DecodeInputs reads a document of inputs.
func DecodeInputs(b []byte) (*Inputs, error) {
	i := new(Inputs)
	return i, decode(InputsName, b, i)
}
