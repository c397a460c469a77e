package manifest

// InputsName is the name of the document in a destination that lists inputs which were read whole
// to identify them, such as files whose modification time changed. As long as a file keeps that
// time, it is not read again. The document may be removed at any moment.
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
