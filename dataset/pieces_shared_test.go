package dataset

import (
	"context"
	"testing"
	"testing/synctest"
)

// Readers of one part read alternate stretches of rows, at different speeds. They read each byte of
// the storage once, in large pieces.
func TestReadersSharePieces(t *testing.T) {
	const size, stretch = 24 << 20, 20 * testBlock
	for _, slow := range []int{1, 3, 8} { // blocks that a reader reads while the other one reads 8
		synctest.Test(t, func(t *testing.T) {
			s, in := newSlowFile()
			shared := newPieces(nil)
			readers := make([]*columnReader, 2)
			for i := range readers {
				a := newAhead(t.Context(), shared)
				a.wanted = 17
				readers[i] = &columnReader{t, a, in, 0, 0, size}
			}
			next := int64(0) // stretch
			left := make([]int, 2)
			for done := 0; done < 2; {
				done = 0
				for i, r := range readers {
					for range []int{8, slow}[i] {
						if left[i] == 0 {
							if next*stretch >= size {
								done++
								break
							}
							r.off, left[i] = next*stretch, min(stretch, int(size-next*stretch))/testBlock
							r.a.announce(float64(stretch) / float64(size-r.off))
							next++
						}
						r.next()
						left[i]--
					}
				}
				synctest.Wait()
			}
			if _, bytes := s.count(0); bytes > size*21/20 || len(s.reads) > 60 || shared.bytesRead() != bytes {
				t.Errorf("at %d: %d bytes were read of %d, in %d reads", slow, bytes, size, len(s.reads))
			}
			for _, r := range readers {
				r.a.removeReader()
			}
			shared.close()
		})
	}
}

// A piece that is dropped while it is read leaves its memory to that read.
func TestPieceInUseIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := newSlowFile()
		shared := newPieces(nil)
		readers := make([]*columnReader, 2)
		for i := range readers {
			a := newAhead(t.Context(), shared)
			a.wanted = 64 // columns, so that each has four pieces of 256 KiB for both readers
			a.announce(1)
			readers[i] = &columnReader{t, a, in, 0, 0, 64 << 20}
		}
		s.hold(func(off int64) bool { return off == 256<<10 })
		readers[0].next()
		if s.waiting() != 1 {
			t.Fatal("no piece is read ahead")
		}
		for i := range int64(3) { // the last piece takes the place of the held one
			readers[1].off = (i + 1) << 23
			readers[1].next()
			synctest.Wait()
		}
		s.release()
		synctest.Wait()
		readers[1].next()
		shared.close()
	})
}

// A reader whose context ends leaves a piece that it waits for. The others still get it.
func TestReaderOfPiecesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := newSlowFile()
		shared := newPieces(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ends := &columnReader{t, newAhead(ctx, shared), in, 0, 0, 8 << 20}
		stays := &columnReader{t, newAhead(t.Context(), shared), in, 0, 0, 8 << 20}
		s.hold(func(int64) bool { return true })
		errs := make(chan error, 2)
		for _, r := range []*columnReader{ends, stays} {
			r.a.announce(1)
			go func() { errs <- r.try() }()
		}
		if s.waiting() != 1 {
			t.Errorf("%d reads of one piece", s.waiting())
		}
		cancel()
		if err := <-errs; err != context.Canceled {
			t.Errorf("canceled: %v", err)
		}
		ends.a.removeReader()
		s.release()
		if err := <-errs; err != nil {
			t.Error(err)
		}
		stays.a.removeReader()
		shared.close()
		for range 3 {
			stays.next() // is left to the file
		}
	})
}
