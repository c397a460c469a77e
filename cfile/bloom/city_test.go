package bloom

import "testing"

// What Kudu's own function makes of keys of all lengths that it tells apart.
func TestCityHash64(t *testing.T) {
	text := make([]byte, 1024)
	for i := range text {
		text[i] = byte(3*i*i + 7*i + 11)
	}
	for n, want := range map[int]uint64{
		0:    0xc47b6e9e3a970ed3,
		1:    0xb7d1992e413504eb,
		2:    0x5fb8f32746596128,
		3:    0x07e984138557c180,
		4:    0x9ca65f344bbbfe56,
		5:    0xc0fa45a4314c44db,
		7:    0x7868d8f6cefcc54d,
		8:    0x35cb6c0266edf62d,
		9:    0xe49bd88d927a1b46,
		11:   0xe0f65324e3be985f,
		15:   0x8b993cfc94bba2ff,
		16:   0x885ff6905d539bb5,
		17:   0xbbe81fb7f1c271f8,
		24:   0xb0e2933b10b85cba,
		31:   0x72fd0d04bf39cf09,
		32:   0xe137f89af8f1bccc,
		33:   0x6dbb361607227b18,
		48:   0x1e4b604c3ee14ba1,
		63:   0x036d612037bd63f3,
		64:   0x8df1ee92ab40cba2,
		65:   0xf5186289316dbacd,
		96:   0x9e58db0080d03818,
		127:  0xbf1a080cc1ca1b93,
		128:  0xa12f38a48fde3f11,
		129:  0x9269cf08ac87ba36,
		192:  0x69e8e3f1f39a5b4d,
		193:  0xdf948265efdbec83,
		1000: 0x3fc826e9493c88c1,
	} {
		if got := cityHash64(text[:n]); got != want {
			t.Errorf("%d bytes: %#016x, want %#016x", n, got, want)
		}
	}
}
