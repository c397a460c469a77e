package main

import "testing"

func TestSharesOf(t *testing.T) {
	const head = "File: bench\nType: cpu\n-----------+----\n"
	for _, c := range []struct {
		name, traces string
		want         map[string]float64
	}{
		{"innermost known function counts",
			head + "  10ms   runtime.memmove\n         github.com/rowtocol/rowtocol/format/column.(*Buffer).Append\n         os.OpenFile\n" +
				"-----------+----\n  30ms   github.com/golang/snappy.Encode\n-----------+----\n",
			map[string]float64{"walk": 0.25, "codec": 0.75}},
		{"unknown functions are the rest", head + "  5ms   main.main\n-----------+----\n", map[string]float64{"rest": 1}},
		{"no samples", head, nil},
		{"another unit", head + "  10kB   main.main\n-----------+----\n", nil},
	} {
		got, err := sharesOf([]byte(c.traces))
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		for i, share := range got {
			if share != c.want[parts[i].name] {
				t.Errorf("%s: %s has %v, want %v", c.name, parts[i].name, share, c.want[parts[i].name])
			}
		}
	}
}
