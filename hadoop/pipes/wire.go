package pipes

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/rowtocol/rowtocol/internal/wire"
)

// message is the code at the start of a message.
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

// Bounds of the data that Java sends. Real data is far smaller: a digest of 28 bytes, a
// path of at most 8000 characters, and a configuration whose largest value is the list of
// the inputs.
const (
	maxSecret      = 4 << 10
	maxDigest      = 1 << 10
	maxSplit       = 1 << 16
	maxConf        = 64 << 20 // all names and values together
	maxConfStrings = 1 << 17  // names and values
)

// decoder decodes messages from Java.
type decoder struct {
	wire.Cursor
	r *bufio.Reader
}

func newDecoder(r io.Reader) *decoder {
	buffer := bufio.NewReader(r)
	return &decoder{wire.NewReader(buffer, math.MaxInt64), buffer}
}

// next reads the code of the next message. Err is io.EOF if there is none.
func (d *decoder) next() message {
	if d.Err() == nil {
		if _, err := d.r.Peek(1); err != nil {
			d.Stop(err)
		}
	}
	return message(d.int("message code"))
}

// int reads a VInt of 32 bits.
func (d *decoder) int(what string) int {
	n := d.VInt(what)
	//guard: rejects a number of more than 32 bits
	if n < math.MinInt32 || n > math.MaxInt32 {
		d.Stop(fmt.Errorf("%s is %d: it must fit in 32 bits", what, n))
		return 0
	}
	return int(n)
}

// bytes reads a VInt n and n bytes.
func (d *decoder) bytes(what string, limit int) []byte {
	return d.BytesWithin(int64(d.int(what)), int64(limit), what)
}
