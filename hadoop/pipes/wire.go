package pipes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// message is the code that begins a message.
type message int

const (
	start         message = 0
	setJobConf    message = 1
	setInputTypes message = 2
	runMap        message = 3
	mapItem       message = 4
	runReduce     message = 5
	reduceKey     message = 6
	reduceValue   message = 7
	closeInput    message = 8
	abort         message = 9
	authRequest   message = 10

	status           message = 52
	progress         message = 53
	done             message = 54
	registerCounter  message = 55
	incrementCounter message = 56
	authResponse     message = 57
)

var messageNames = map[message]string{
	start: "START", setJobConf: "SET_JOB_CONF", setInputTypes: "SET_INPUT_TYPES", runMap: "RUN_MAP",
	mapItem: "MAP_ITEM", runReduce: "RUN_REDUCE", reduceKey: "REDUCE_KEY", reduceValue: "REDUCE_VALUE",
	closeInput: "CLOSE", abort: "ABORT", authRequest: "AUTHENTICATION_REQ",
	status: "STATUS", progress: "PROGRESS", done: "DONE", registerCounter: "REGISTER_COUNTER",
	incrementCounter: "INCREMENT_COUNTER", authResponse: "AUTHENTICATION_RESP",
}

func (m message) String() string {
	if name, ok := messageNames[m]; ok {
		return name
	}
	return "message " + strconv.Itoa(int(m))
}

// What Java sends is bounded by these. Its own strings are far below: 28 bytes of
// digest, 8000 characters of a path, and a configuration whose largest value is the
// list of the inputs.
const (
	maxSecret      = 4 << 10
	maxDigest      = 1 << 10
	maxSplit       = 1 << 16
	maxConf        = 64 << 20 // all names and values together
	maxConfStrings = 1 << 17  // names and values
	chunk          = 1 << 16  // what a length alone may allocate
)

// decoder reads what Java sends. After its first error it reads nothing more and
// returns zeros; the error is err.
type decoder struct {
	r   *bufio.Reader
	err error
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReaderSize(r, chunk)} }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// next reads the code of the next message. Its error is io.EOF if there is none.
func (d *decoder) next() message {
	if d.err != nil {
		return -1
	}
	if _, err := d.r.Peek(1); err != nil {
		d.fail(err)
		return -1
	}
	return message(d.int("message code"))
}

// read fills p.
func (d *decoder) read(what string, p []byte) {
	if d.err != nil {
		return
	}
	if _, err := io.ReadFull(d.r, p); err != nil {
		//guard: half a message would be taken for a connection that was closed
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		d.fail(fmt.Errorf("%s: %w", what, err))
	}
}

// long reads a VLong: a byte that is the number itself from -112 on, or else says
// how many bytes follow and whether they are the number's complement.
func (d *decoder) long(what string) int64 {
	var b [9]byte
	d.read(what, b[:1])
	first := int(int8(b[0]))
	if d.err != nil || first >= -112 {
		return int64(first)
	}
	size, complement := -112-first, int64(0)
	if size > 8 {
		size, complement = size-8, -1
	}
	d.read(what, b[1:1+size])
	var n uint64
	for _, c := range b[1 : 1+size] {
		n = n<<8 | uint64(c)
	}
	return int64(n) ^ complement
}

// int reads a VInt.
func (d *decoder) int(what string) int {
	n := d.long(what)
	//guard: a number would be cut to another
	if n < math.MinInt32 || n > math.MaxInt32 {
		d.fail(fmt.Errorf("%s is %d: it has to fit in 32 bits", what, n))
		return 0
	}
	return int(n)
}

// bytes reads a VInt n and n bytes.
func (d *decoder) bytes(what string, limit int) []byte {
	n := d.int(what)
	//guard: a length alone would say how much is kept
	if d.err == nil && (n < 0 || n > limit) {
		d.fail(fmt.Errorf("%s has a length of %d bytes: it can be from 0 to %d", what, n, limit))
	}
	var p []byte
	for d.err == nil && len(p) < n {
		size := len(p)
		p = slices.Grow(p, min(n-size, chunk))[:min(n, size+chunk)]
		d.read(what, p[size:])
	}
	return p
}

// appendLong appends n as a VLong, or as a VInt: it is the same.
func appendLong(p []byte, n int64) []byte {
	if n >= -112 && n <= 127 {
		return append(p, byte(n))
	}
	first := -112
	if n < 0 {
		first, n = -120, ^n
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	size := 8
	for size > 1 && b[8-size] == 0 {
		size--
	}
	p = append(p, byte(first-size))
	return append(p, b[8-size:]...)
}

func appendText(p []byte, text string) []byte {
	return append(appendLong(p, int64(len(text))), text...)
}
