package ocf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// split cuts [0, size+10) at random offsets into adjacent ranges.
func split(r *rand.Rand, size int64, n int) []Range {
	cuts := []int64{0, size + 10}
	for range n {
		cuts = append(cuts, r.Int64N(size+1))
	}
	slices.Sort(cuts)
	var out []Range
	for i := range cuts[1:] {
		out = append(out, Range{cuts[i], cuts[i+1]})
	}
	return out
}

// checkPartition compares a scan of the whole file with scans of its ranges together.
func checkPartition(t *testing.T, h *Header, file []byte, ranges []Range) {
	t.Helper()
	want := scanAll(t, scanner(h, file, Range{0, int64(len(file))}))
	var got []part
	for _, rg := range ranges {
		parts := scanAll(t, scanner(h, file, rg))
		for _, p := range parts {
			if !p.lost && h.Size < rg.Start && (p.Start < rg.Start || p.Start >= rg.End) {
				t.Fatalf("range %v has the block %v", rg, p)
			}
		}
		got = append(got, parts...)
	}
	// A loss may be split where a range begins inside it.
	end := h.Size
	var rows, wantRows int64
	for _, p := range got {
		if p.Start != end {
			t.Fatalf("ranges %v: part at %d, want one at %d", ranges, p.Start, end)
		}
		end, rows = p.End, rows+p.rows
	}
	for _, p := range want {
		wantRows += p.rows
	}
	if end != int64(len(file)) || rows != wantRows {
		t.Fatalf("ranges %v: end %d, %d rows; want end %d, %d rows", ranges, end, rows, len(file), wantRows)
	}
}

func TestRangesPartition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	files := map[string][]byte{
		"no blocks":    writeFile(t, "null"),
		"one block":    writeFile(t, "null", testBlock{1, []byte("x")}),
		"many blocks":  writeFile(t, "snappy", manyBlocks(60)...),
		"empty blocks": writeFile(t, "null", make([]testBlock, 30)...),
		"large blocks": writeFile(t, "null", testBlock{1, noise(1, 3<<20)}, testBlock{2, noise(2, 10)}, testBlock{3, noise(3, bufferSize)}),
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			h := mustHeader(t, file)
			if len(file) < 1<<12 { // all cuts into two ranges
				for cut := range int64(len(file)) {
					checkPartition(t, h, file, []Range{{0, cut}, {cut, int64(len(file))}})
				}
			}
			for range 40 {
				checkPartition(t, h, file, split(r, int64(len(file)), r.IntN(12)))
			}
		})
	}
}

// TestDamagedRangesPartition damages bytes: blocks and losses of the ranges
// must still cover the file exactly once, in order.
func TestDamagedRangesPartition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	sound := writeFile(t, "null", manyBlocks(40)...)
	h := mustHeader(t, sound)
	for range 400 {
		file := slices.Clone(sound)
		for range 1 + r.IntN(3) {
			at := h.Size + r.Int64N(int64(len(file))-h.Size)
			file[at] ^= byte(1 + r.IntN(255))
		}
		if r.IntN(4) == 0 {
			file = file[:h.Size+r.Int64N(int64(len(file))-h.Size)]
		}
		checkCover(t, h, file, []Range{{0, int64(len(file))}})
		checkCover(t, h, file, split(r, int64(len(file)), r.IntN(5)))
	}
}

func checkCover(t *testing.T, h *Header, file []byte, ranges []Range) {
	t.Helper()
	end := h.Size
	for _, rg := range ranges {
		for _, p := range scanAll(t, scanner(h, file, rg)) {
			if p.Start != end || p.End <= p.Start {
				t.Fatalf("ranges %v: part %v, want one at %d", ranges, p, end)
			}
			end = p.End
		}
	}
	if end != int64(len(file)) {
		t.Fatalf("ranges %v: covered up to %d of %d", ranges, end, len(file))
	}
}

func TestScanEdges(t *testing.T) {
	file := writeFile(t, "null", testBlock{0, nil}, testBlock{1 << 40, nil}, testBlock{2, []byte("ab")})
	h := mustHeader(t, file)
	parts := scanAll(t, scanner(h, file, Range{0, 1 << 60}))
	if len(parts) != 3 || parts[0].rows != 0 || parts[1].rows != 1<<40 || parts[2].rows != 2 {
		t.Errorf("got %v", parts)
	}
	for _, rg := range []Range{{5, 5}, {0, h.Size}, {0, -1}, {int64(len(file)), 1 << 60}, {1 << 50, 1 << 60}, {90, 20}} {
		if parts := scanAll(t, scanner(h, file, rg)); len(parts) != 0 {
			t.Errorf("range %v: got %v, want nothing", rg, parts)
		}
	}
}

func TestScanDamage(t *testing.T) {
	head := writeFile(t, "null", testBlock{1, []byte("good")})
	at := int64(len(head))
	other := strings.Repeat("z", SyncSize)
	tests := []struct {
		name, tail string
		kind       damage.Kind
		offset     int64
	}{
		{"negative rows", long(-1) + long(1) + "x" + sync16, damage.Count, at},
		{"overlong rows", strings.Repeat("\x80", 10) + "\x00" + sync16, damage.Count, at},
		{"overflowing rows", strings.Repeat("\xff", 9) + "\x02" + sync16, damage.Count, at},
		{"negative size", long(1) + long(-1) + "x" + sync16, damage.Size, at + 1},
		{"overlong size", long(1) + strings.Repeat("\xff", 11) + sync16, damage.Size, at + 1},
		{"wrong sync", long(1) + long(1) + "x" + other, damage.Sync, at + 3},
		{"size too small", long(1) + long(1) + "xy" + sync16, damage.Sync, at + 3},
		{"size too large", long(1) + long(2) + "x" + sync16, damage.Truncated, at + 1},
		{"huge size", long(1) + long(1<<62) + "x" + sync16, damage.Truncated, at + 1},
		{"cut in the data", long(1) + long(100) + other, damage.Truncated, at + 1},
		{"cut in the head", strings.Repeat("\x80", 8) + strings.Repeat("\x01", 1) + strings.Repeat("\x80", 9), damage.Truncated, at + 9},
		{"one byte of junk", "\n", damage.Trailing, at},
		{"cut in the sync", long(0) + long(0) + sync16[:15], damage.Trailing, at},
		{"zeros", strings.Repeat("\x00", 40), damage.Sync, at + 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := append(slices.Clone(head), tt.tail...)
			s := scanner(mustHeader(t, head), file, Range{0, int64(len(file))})
			var b Block
			if err := s.Next(t.Context(), &b); err != nil || string(b.Data) != "good" {
				t.Fatalf("first block: %q, %v", b.Data, err)
			}
			err := s.Next(t.Context(), &b)
			wantDamage(t, err, tt.kind, tt.offset)
			if again := s.Next(t.Context(), &b); !errors.Is(again, err) {
				t.Errorf("damage was not sticky: %v", again)
			}
		})
	}
}

func TestResync(t *testing.T) {
	blocks := manyBlocks(6)
	file := writeFile(t, "null", blocks...)
	h := mustHeader(t, file)
	parts := scanAll(t, scanner(h, file, Range{0, int64(len(file))}))

	file[parts[2].End-1]++ // the marker between blocks 2 and 3
	s := scanner(h, file, Range{0, int64(len(file))})
	var got []int64
	var lost []Range
	for _, p := range scanAll(t, s) {
		if p.lost {
			lost = append(lost, p.Range)
		} else {
			got = append(got, p.rows)
		}
	}
	if !slices.Equal(got, []int64{0, 1, 4, 5}) {
		t.Errorf("rows of the remaining blocks: %v", got)
	}
	if want := []Range{{parts[2].Start, parts[3].End}}; !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
	if lost, err := s.Resync(t.Context()); err != nil || lost.Len() != 0 {
		t.Errorf("Resync without damage: %v, %v", lost, err)
	}
}

// TestResyncAcrossBuffers has the next marker across the end of a scanner's buffer.
func TestResyncAcrossBuffers(t *testing.T) {
	for _, n := range []int{bufferSize - 40, bufferSize - 20, bufferSize - 16, bufferSize, 2*bufferSize - 30} {
		file := writeFile(t, "null", testBlock{1, noise(7, n)}, testBlock{2, []byte("end")})
		h := mustHeader(t, file)
		file[h.Size+1] ^= 2 // the size
		parts := scanAll(t, scanner(h, file, Range{0, int64(len(file))}))
		if len(parts) != 2 || !parts[0].lost || parts[1].rows != 2 {
			t.Errorf("block of %d bytes: got %v", n, parts)
		}
	}
}

func TestLimitBlocks(t *testing.T) {
	file := writeFile(t, "null", testBlock{1, noise(1, 100_000)})
	h := mustHeader(t, file)
	for limit, ok := range map[int64]bool{100_000: true, 90_000: true, 10_000: false, 0: false, 1 << 62: true} {
		s := scanner(h, file, Range{0, int64(len(file))})
		s.LimitBlocks(limit)
		err := s.Next(t.Context(), new(Block))
		if ok && err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		if !ok {
			wantDamage(t, err, damage.Size, h.Size+1)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("limit %d: got %v, want %v as the cause", limit, err, ErrTooLarge)
			}
		}
	}
}

// TestFalseSizeIsNotTooLarge has a size beyond the limit without a sync marker at
// the end of the block.
func TestFalseSizeIsNotTooLarge(t *testing.T) {
	file := writeFile(t, "null", testBlock{1, []byte("x")}, testBlock{2, noise(1, 100_000)})
	h := mustHeader(t, file)
	head := long(1) + long(90_000)
	copy(file[h.Size:], head)
	s := scanner(h, file, Range{0, int64(len(file))})
	s.LimitBlocks(1000)
	wantDamage(t, s.Next(t.Context(), new(Block)), damage.Sync, h.Size+int64(len(head))+90_000)
}

func TestPeek(t *testing.T) {
	file := append(writeFile(t, "null", manyBlocks(20)...), 1, 2, 3)
	s := scanner(mustHeader(t, file), file, Range{0, int64(len(file))})
	for {
		var b Block
		size, err := s.Peek(t.Context())
		if got := s.Next(t.Context(), &b); !errors.Is(got, err) {
			t.Fatalf("Next: %v after Peek: %v", got, err)
		}
		if err != nil {
			wantDamage(t, err, damage.Trailing, int64(len(file)-3))
			return
		}
		if size != int64(len(b.Data)) {
			t.Errorf("block at %d: %d bytes, want %d", b.Offset, size, len(b.Data))
		}
	}
}

func TestScanIOError(t *testing.T) {
	file := writeFile(t, "null", testBlock{1, noise(1, 5<<20)}, testBlock{2, noise(2, 100)})
	h := mustHeader(t, file)
	boom := errors.New("boom")
	for fail := 1; fail < 6; fail++ {
		r := &flaky{r: bytes.NewReader(file), fail: fail, err: boom}
		s := NewScanner(r, int64(len(file)), "f.avro", h, Range{0, int64(len(file))})
		var b Block
		var rows int64
		var failures int
		for {
			err := s.Next(t.Context(), &b)
			if errors.Is(err, io.EOF) {
				break
			}
			var d *damage.Error
			if errors.As(err, &d) {
				t.Fatalf("failing disk reported as damage: %v", err)
			}
			if err != nil {
				if failures++; !errors.Is(err, boom) || failures > 1 {
					t.Fatal(err)
				}
				continue // the disk works again
			}
			rows += b.Rows
		}
		if rows != 3 {
			t.Errorf("read %d failed: %d rows after a retry, want 3", fail, rows)
		}
	}
	s := NewScanner(bytes.NewReader(file[:1<<20]), int64(len(file)), "f.avro", h, Range{0, int64(len(file))})
	if err := s.Next(t.Context(), new(Block)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("shrunk file: %v", err)
	}
}

func TestScanCanceled(t *testing.T) {
	file := writeFile(t, "null", testBlock{1, nil})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, start := range []int64{0, int64(len(file)) - 1} {
		s := scanner(mustHeader(t, file), file, Range{start, int64(len(file))})
		if err := s.Next(ctx, new(Block)); !errors.Is(err, context.Canceled) {
			t.Errorf("start %d: %v", start, err)
		}
	}
}

func TestScanAllocations(t *testing.T) {
	file := writeFile(t, "null", manyBlocks(300)...)
	s := scanner(mustHeader(t, file), file, Range{0, int64(len(file))})
	b := Block{Data: make([]byte, 0, 1<<10)}
	testenv.Must(t, s.Next(t.Context(), &b))
	if n := testing.AllocsPerRun(200, func() {
		if err := s.Next(t.Context(), &b); err != nil {
			panic(fmt.Sprint(err))
		}
	}); n != 0 {
		t.Errorf("%v allocations for a block", n)
	}
}

func TestResetStartsOver(t *testing.T) {
	var s Scanner
	for i, file := range [][]byte{
		writeFile(t, "null", manyBlocks(3)...),
		writeFile(t, "snappy", manyBlocks(60)...),
		append(writeFile(t, "null", manyBlocks(5)...), 1, 2, 3),
		writeFile(t, "null", testBlock{1, noise(1, 3<<20)}, testBlock{2, noise(2, 10)}),
		writeFile(t, "null"),
		writeFile(t, "snappy", manyBlocks(60)...),
	} {
		h, all := mustHeader(t, file), Range{0, int64(len(file))}
		s.Reset(bytes.NewReader(file), int64(len(file)), "f.avro", h, all)
		if got, want := scanAll(t, &s), scanAll(t, scanner(h, file, all)); !slices.Equal(got, want) {
			t.Errorf("file %d: blocks %v, want %v", i, got, want)
		}
	}
}
