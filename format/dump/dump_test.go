package dump

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
)

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDumper(t *testing.T) {
	bad := damage.New(damage.Size, "f", 3, "cut")
	for name, c := range map[string]struct {
		dump func(d *Dumper)
		want string
		err  error
	}{
		"labels": {func(d *Dumper) {
			d.Title("block %d", 1)
			d.Claim(2, "rows: %d", 7)
			d.Claim(0, "nothing")
			d.Claim(17, "text")
			d.Claim(1, "")
		}, "\nblock 1\n" +
			"00000000  61 62                                            rows: 7\n" +
			"00000002                                                   nothing\n" +
			"00000002  63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72  text\n" +
			"00000012  73\n" +
			"00000013  74\n", nil},
		"damage": {func(d *Dumper) {
			d.Claim(1, "before")
			if d.Damaged(nil) || !d.Damaged(bad) || !d.Damaged(damage.New(damage.Size, "f", 9, "more")) {
				t.Error("Damaged does not report exactly the damage")
			}
			d.Claim(1, "after")
		}, "00000000  61                                               before\n00000001  62                                               after\n", bad},
		"another error": {func(d *Dumper) {
			d.Damaged(bad)
			d.Damaged(io.ErrNoProgress)
			d.Claim(1, "after")
			d.Title("after")
		}, "", io.ErrNoProgress},
		"more than the file has": {func(d *Dumper) { d.Claim(26, ""); d.Claim(1, "after") },
			"00000000  61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70\n", io.ErrUnexpectedEOF},
	} {
		var out bytes.Buffer
		d := New(&out)
		d.Begin(strings.NewReader("abcdefghijklmnopqrstuvwxy"), 25, "f")
		c.dump(&d)
		if err := d.End(); !errors.Is(err, c.err) || out.String() != c.want {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	d := New(failingWriter{})
	d.Title("text")
	if err := d.End(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failing writer: %v", err)
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"a\x00": `"a\x00"`, strings.Repeat("x", 49): `"` + strings.Repeat("x", 48) + `"… (49 bytes)`} {
		if got := Quote([]byte(text)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
