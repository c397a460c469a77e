package column

import "testing"

func TestParseLogical(t *testing.T) {
	for l := LogicalNone; l <= LogicalDuration; l++ {
		if got, ok := ParseLogical(l.String()); got != l || !ok {
			t.Errorf("%q: %d, %v", l, got, ok)
		}
	}
	if got, ok := ParseLogical("era"); got != LogicalNone || ok {
		t.Errorf("an unknown name: %d, %v", got, ok)
	}
}

func TestAppendUUID(t *testing.T) {
	const text = "00ff1122-3344-5566-7788-99aabbccddee"
	whole := []byte{0, 0xff, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee}
	for n, digits := range map[int]int{16: 36, 0: 0, 1: 2, 4: 8, 5: 11, 6: 13, 10: 23, 11: 26} {
		if got := string(AppendUUID([]byte("x"), whole[:n])); got != "x"+text[:digits] {
			t.Errorf("%d bytes: %s", n, got)
		}
	}
}
