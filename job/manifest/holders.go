package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Holders finds outputs of one destination that have rows of the same input. The zero value has
// no outputs.
type Holders struct {
	names  []string
	inputs map[inputKey]int // indexes in names
}

// inputKey is a hash that inputs have in common if they are the same. It is shorter than a path,
// because a destination may have millions of inputs.
type inputKey [16]byte

// keysOf returns the keys of an input. Inputs that are the same share a key: they have the
// same bytes in the same place, or in the same file under another name.
func keysOf(in *Input) (keys []inputKey) {
	if in.was != nil {
		in = in.was
	}
	bytes := binary.LittleEndian.AppendUint64(make([]byte, 0, 256), uint64(in.Size))
	bytes = binary.LittleEndian.AppendUint32(bytes, in.Identity)
	if in.CRC32C != nil {
		bytes = binary.LittleEndian.AppendUint32(bytes, *in.CRC32C)
	}
	key := func(what []byte) inputKey {
		sum := sha256.Sum256(what)
		return inputKey(sum[:])
	}
	if in.FileID != 0 {
		file := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(bytes, in.FileID), uint64(in.ModTime.UnixNano()))
		keys = append(keys, key(file))
	}
	return append(keys, key(append(bytes, in.Location()...)))
}

// Conflict says why two outputs do not belong in one destination. For example, an
// increment was restored after its inputs were converted again.
type Conflict struct {
	Other string // the output that was added first
	Input string // an input whose rows both have
}

func (c *Conflict) String() string {
	return fmt.Sprintf("the rows of %s are in %s as well; if one of the two was restored, move it away", c.Input, c.Other)
}

// Add adds an output under a name. It returns the first conflict with an output that was
// added before, or nil.
func (h *Holders) Add(name string, s *Success) (found *Conflict) {
	if h.inputs == nil {
		h.inputs = make(map[inputKey]int, len(s.Request.Inputs))
	}
	now := len(h.names)
	h.names = append(h.names, name)
	for i := range s.Request.Inputs {
		in := &s.Request.Inputs[i]
		for _, key := range keysOf(in) {
			if other, ok := h.inputs[key]; ok && other != now && found == nil {
				found = &Conflict{Other: h.names[other], Input: in.Path}
			}
			h.inputs[key] = now
		}
	}
	return found
}
