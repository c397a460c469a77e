package mapper_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestMemoryOfEarlierTasksChangesNothing(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 3000))
	bad := mail(t, 3000)
	bad[len(bad)/2] ^= 0x55
	damaged := source(t, "bad.avro", bad)
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
	cfg.RowGroupSize = 300 << 10
	want, _, _ := convert(t, cfg, src)

	cfg.Workspaces = new(mapper.Workspaces)
	for i := range 3 {
		got, _, _ := convert(t, cfg, src)
		sameOutputs(t, fmt.Sprint("task ", i), got, want)
		// A task that fails half-way does not affect the next.
		_, err := mapper.Run(context.Background(), []mapper.Source{damaged}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
		if err == nil {
			t.Fatal("damage was not noticed")
		}
	}
}

func TestMoreIsFalseInTheLastRowGroup(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 3000))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
	for _, ceiling := range []int64{300 << 10, 128 << 20} {
		cfg.RowGroupSize = ceiling
		var more []bool
		_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error {
			more = append(more, g.More)
			return g.Spill.Close()
		})
		testenv.Must(t, err)
		for i, m := range more {
			if m != (i < len(more)-1) {
				t.Errorf("row group size %d: row group %d of %d has More %v", ceiling, i, len(more), m)
			}
		}
	}
}
