package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// failingFrom returns a store whose files cannot be read from an offset on.
func failingFrom(offset int64, err error) store.Store {
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		if c.Op == storetest.ReadAt && c.Offset >= offset {
			return err
		}
		return c.Do()
	})
}

func TestDescribe(t *testing.T) {
	file := t.TempDir() + "/a.avro"
	write(t, file, "x", 3)
	in, h, err := Describe(t.Context(), nil, file)
	testenv.Must(t, err)
	info, err := os.Stat(file)
	testenv.Must(t, err)
	if in.Path != file || in.Size != info.Size() || in.HeaderSize != h.Size || h.Schema != `"string"` || in.Identity == 0 {
		t.Errorf("%+v of %+v", in, h)
	}
	if again, _, err := Describe(t.Context(), nil, file); again != in {
		t.Errorf("%+v, and again %+v, %v", in, again, err)
	}
	testenv.Must(t, os.WriteFile(file, []byte("not Avro"), 0o666))
	_, _, err = Describe(t.Context(), nil, file)
	failuretest.Want(t, err, failure.Input, "a.avro: offset 0")
}

// TestIdentity checks that the identity changes with each byte of the header and the end, and
// with no other byte.
func TestIdentity(t *testing.T) {
	file := t.TempDir() + "/a.avro"
	write(t, file, strings.Repeat("x", 50), 3000)
	want := describe(t, file)
	b, err := os.ReadFile(file)
	testenv.Must(t, err)
	if want.Size < want.HeaderSize+2*identityTail {
		t.Fatalf("the file has only %d bytes", want.Size)
	}
	for at, covered := range map[int64]bool{
		want.HeaderSize - 1: true, want.HeaderSize: false,
		want.Size - identityTail - 1: false, want.Size - identityTail: true, want.Size - identityTail/2: true, want.Size - 1: true,
	} {
		b[at] ^= 1
		testenv.Must(t, os.WriteFile(file, b, 0o666))
		b[at] ^= 1
		err := checkRead(t, nil, want)
		if covered {
			failuretest.Want(t, err, failure.Input, "a.avro changed during the job: its identity was")
		} else {
			failuretest.Want(t, err, failure.Input, "a.avro changed during the job: the CRC-32C of its bytes was")
		}
	}
}

func TestInputsThatChange(t *testing.T) {
	dir := t.TempDir()
	var inputs []manifest.Input
	for i := range 20 {
		file := fmt.Sprintf("%s/%02d.avro", dir, i)
		write(t, file, "x", i)
		inputs = append(inputs, describe(t, file))
	}
	if err := checkRead(t, nil, slices.Clone(inputs)...); err != nil {
		t.Error(err)
	}
	f, _, err := Open(t.Context(), nil, inputs[3])
	testenv.Must(t, err)
	if err := f.Close(); err != nil || f.Size() != inputs[3].Size {
		t.Errorf("%d bytes, want %d; %v", f.Size(), inputs[3].Size, err)
	}
	write(t, inputs[3].Path, "x", 30) // same header and end
	_, _, err = Open(t.Context(), nil, inputs[3])
	failuretest.Want(t, err, failure.Input, "03.avro changed during the job: it had")
	failuretest.Want(t, checkRead(t, nil, slices.Clone(inputs)...), failure.Input, "03.avro changed during the job")
	testenv.Must(t, os.Remove(inputs[3].Path))
	failuretest.Want(t, checkRead(t, nil, slices.Clone(inputs)...), failure.Input, "03.avro does not exist")
}

func TestFaultsOfStores(t *testing.T) {
	file := t.TempDir() + "/a.avro"
	write(t, file, strings.Repeat("x", 50), 3000) // more than the identity covers
	in := describe(t, file)
	for _, tc := range []struct {
		err, kind error
		text      string
	}{
		{os.ErrNotExist, failure.Input, "does not exist"},
		{store.ErrNotRegular, failure.Input, "a.avro"},
		{store.ErrBeingWritten, failure.Input, "still being written"},
		{syscall.EACCES, failure.Refused, "a.avro"},
		{syscall.EIO, failure.Storage, "a.avro"},
	} {
		resolve := storetest.ResolveTo(storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Open, Err: fmt.Errorf("open %s: %w", file, tc.err)}))
		_, _, err := Open(t.Context(), resolve, in)
		failuretest.Want(t, err, tc.kind, tc.text)
		_, _, err = Describe(t.Context(), resolve, file)
		failuretest.Want(t, err, tc.kind, tc.text)
	}
	refused := errors.New("unplugged")
	resolve := storetest.ResolveTo(failingFrom(in.HeaderSize, refused))
	_, _, err := Describe(t.Context(), resolve, file)
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
	if err := checkRead(t, resolve, in); !errors.Is(err, refused) || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
	// The file ends before its size.
	resolve = storetest.ResolveTo(failingFrom(in.HeaderSize, io.EOF))
	failuretest.Want(t, checkRead(t, resolve, in), failure.Input, "changed while it was read")
}

// TestFewReads checks that few reads are made, because remote storage looks up the file for
// each read.
func TestFewReads(t *testing.T) {
	for rows, want := range map[int]int{3: 1, 900: 1, 1000: 2, 3000: 2} {
		file, st := t.TempDir()+"/a.avro", storetest.NewFaulty(store.Local())
		write(t, file, strings.Repeat("x", 50), rows)
		whole := describe(t, file)
		in, _, err := Describe(t.Context(), storetest.ResolveTo(st), file)
		reads := st.Calls(storetest.ReadAt)
		if err != nil || reads != want {
			t.Errorf("%d bytes are described by %d reads, want %d; %v", in.Size, reads, want, err)
		}
		in.CRC32C = whole.CRC32C
		err = checkRead(t, storetest.ResolveTo(st), in)
		if reads = st.Calls(storetest.ReadAt) - reads; err != nil || reads != want {
			t.Errorf("%d bytes are checked by %d reads, want %d; %v", in.Size, reads, want, err)
		}
	}
}
