package input

import (
	"context"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Find finds the known input that is the same as in. It calls find to look the input up. If
// find cannot decide without reading in, Find calls open, which reads the header and the end,
// or sum, which reads all bytes, and then calls find again. A known input without a CRC-32C
// belongs to the same survey and is read as well. open and sum store their results in the
// input, and may leave it unchanged. If open is nil, inputs are not opened.
func Find(ctx context.Context, in *manifest.Input, find func() manifest.Match, open, sum func(context.Context, *manifest.Input) error) (manifest.Match, error) {
	m := find()
	if m.Relation == manifest.Unopened && open != nil {
		if err := open(ctx, in); err != nil {
			return m, err
		}
		m = find()
	}
	if m.Relation == manifest.Unread {
		if err := sum(ctx, in); err != nil {
			return m, err
		}
		m = find()
	}
	if m.Relation == manifest.Unread && m.CRC32C == nil {
		if err := sum(ctx, &m.Input); err != nil {
			return m, err
		}
		m.Relation = in.Relate(&m.Input)
	}
	return m, nil
}

// SumUnread calls sum for each input that only its bytes can match with a known input. Several
// calls run at the same time.
func SumUnread(ctx context.Context, inputs []manifest.Input, known *manifest.Known, sum func(context.Context, *manifest.Input) error) error {
	return parallel.Do(ctx, len(inputs), Readers, func(ctx context.Context, i int) error {
		_, err := Find(ctx, &inputs[i], func() manifest.Match { return known.Find(&inputs[i], "", false) }, nil, sum)
		return err
	})
}

// Sum reads a whole input and sets its CRC-32C, unless it has one.
func Sum(ctx context.Context, resolve Resolve, in *manifest.Input) error {
	if in.CRC32C != nil {
		return nil
	}
	crc, err := sumRange(ctx, resolve, *in, 0, in.Size)
	if err == nil {
		in.CRC32C = &crc
	}
	return err
}

func sumRange(ctx context.Context, resolve Resolve, in manifest.Input, start, end int64) (uint32, error) {
	f, _, err := Open(ctx, resolve, in)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	_, crc, err := store.SumRange(ctx, f, start, end)
	return crc, err
}

// StillRead reports whether the inputs of the plan still hold the bytes that a task read.
// If an input was modified in the meantime, it compares the bytes.
func StillRead(ctx context.Context, resolve Resolve, p *manifest.Plan, res *manifest.TaskResult) (bool, error) {
	for i, piece := range p.Tasks[res.Task].Pieces {
		in, read := p.Request.Inputs[piece.Input], res.Reads[i]
		was := read.Input(in)
		if was.Settled(&in) {
			continue
		}
		crc, err := sumRange(ctx, resolve, in, piece.Start, piece.End)
		if err != nil {
			return false, err
		}
		//guard: rejects a file that changed between two reads
		if crc != read.CRC32C {
			return false, nil
		}
	}
	return true, nil
}

// Check checks that the inputs of a plan still hold the bytes that the tasks read. It
// returns the inputs as they are now, with the CRC-32C of all their bytes. It reads only
// inputs that may have been modified since a task opened them.
func Check(ctx context.Context, resolve Resolve, p *manifest.Plan, results []*manifest.TaskResult) ([]manifest.Input, error) {
	found := make([]manifest.Input, len(p.Request.Inputs))
	pieces := piecesOf(p, results)
	return found, parallel.Do(ctx, len(found), Readers, func(ctx context.Context, i int) (err error) {
		found[i], err = check(ctx, resolve, p.Request.Inputs[i], pieces[i])
		return err
	})
}

// readPiece is a piece of an input as a task read it.
type readPiece struct {
	manifest.Read
	size int64
}

// piecesOf returns the pieces of each input, in order.
func piecesOf(p *manifest.Plan, results []*manifest.TaskResult) [][]readPiece {
	pieces := make([][]readPiece, len(p.Request.Inputs))
	for i, t := range p.Tasks {
		for j, piece := range t.Pieces {
			pieces[piece.Input] = append(pieces[piece.Input], readPiece{results[i].Reads[j], piece.End - piece.Start})
		}
	}
	return pieces
}

func check(ctx context.Context, resolve Resolve, in manifest.Input, pieces []readPiece) (manifest.Input, error) {
	f, now, err := reopen(ctx, resolve, in)
	if err != nil {
		return now, err
	}
	defer func() { _ = f.Close() }()
	if err := checkEnds(f, &in); err != nil {
		return now, err
	}
	var crc uint32
	settled := true
	for _, piece := range pieces {
		crc = store.JoinSums(crc, piece.CRC32C, piece.size)
		was := piece.Input(in)
		settled = settled && was.Settled(&now)
	}
	holds := crc
	if !settled {
		if _, holds, err = store.SumRange(ctx, f, 0, in.Size); err != nil {
			return now, err
		}
	}
	changed := func(was uint32) error {
		return failure.New(failure.Input, "input %s changed during the job: the CRC-32C of its bytes was %08x and is %08x", in.Path, was, holds)
	}
	//guard: rejects a file that changed between two reads
	if holds != crc {
		return now, changed(crc)
	}
	//guard: rejects a file that was replaced after the survey
	if in.CRC32C != nil && *in.CRC32C != holds {
		return now, changed(*in.CRC32C)
	}
	now.CRC32C = &crc
	return now, nil
}
