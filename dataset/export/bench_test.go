package export

import (
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// BenchmarkJSON encodes messages.
func BenchmarkJSON(b *testing.B) {
	rows := messages(1000)
	e, err := JSON(parse(b, mailgen.Schema), JSONOptions{}).NewEncoder(io.Discard)
	testenv.Must(b, err)
	var out []byte
	size := 0
	for b.Loop() {
		size = 0
		for _, row := range rows {
			if out, err = e.Append(out[:0], row); err != nil {
				b.Fatal(err)
			}
			size += len(out)
		}
	}
	b.SetBytes(int64(size))
}
