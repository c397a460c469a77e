package hdfs

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// answers are a name node's answers by method: JSON, or an exception as "class: message".
// The last one is repeated. "hang up" ends the connection instead, and "huge" announces
// an answer of 2 GiB.
type answers map[string][]string

// nameNode is a name node with the answers of a test.
type nameNode struct {
	t        *testing.T
	listener net.Listener
	served   sync.WaitGroup

	mu        sync.Mutex // of what follows
	answers   answers
	requested map[string][]answer // the requests
}

// newNameNode starts a name node and returns a store of it.
func newNameNode(t *testing.T, a answers) (*nameNode, *Store) {
	t.Helper()
	n := &nameNode{t: t, answers: answers{
		"getServerDefaults":      {`{"serverDefaults":{"blockSize":134217728,"bytesPerChecksum":512,"writePacketSize":65536,"replication":3,"fileBufferSize":4096}}`},
		"renewLease":             {`{}`},
		"updateBlockForPipeline": {`{"block":` + block("0", 0, 0) + `}`},
	}, requested: map[string][]answer{}}
	for method, texts := range a {
		n.answers[method] = texts
	}
	var err error
	if n.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	n.served.Go(func() { serve(n.listener, n.connection) })
	t.Cleanup(func() {
		_ = n.listener.Close()
		n.served.Wait()
	})
	s, err := newStore(t, nil, n.listener.Addr().String())
	testenv.Must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return n, s
}

// serve serves each connection of a listener in a goroutine, and waits for all.
func serve(l net.Listener, connection func(net.Conn) error) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		all.Go(func() {
			defer func() { _ = c.Close() }()
			_ = connection(c)
		})
	}
}

// requests returns the requests of a method.
func (n *nameNode) requests(method string) []answer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.requested[method]
}

func (n *nameNode) connection(c net.Conn) error {
	const preamble = 7 // hrpc, version, class, protocol
	if _, err := io.CopyN(io.Discard, c, preamble); err != nil {
		return err
	}
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return err
		}
		packet := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c, packet); err != nil {
			return err
		}
		header := newMessage("hadoop.common.RpcRequestHeaderProto")
		packet = takeMessage(packet, header)
		id := header.field("callId").Int()
		if id < 0 {
			continue // the connection's context, without an answer
		}
		call := newMessage("hadoop.common.RequestHeaderProto")
		packet = takeMessage(packet, call)
		reply, err := n.reply(id, call.field("methodName").String(), packet)
		if err != nil {
			return err
		}
		if _, err := c.Write(reply); err != nil {
			return err
		}
	}
}

func (n *nameNode) reply(id int64, method string, body []byte) ([]byte, error) {
	prefix := "hadoop.hdfs." + strings.ToUpper(method[:1]) + method[1:]
	request := newMessage(prefix + "RequestProto")
	takeMessage(body, request)
	n.mu.Lock()
	n.requested[method] = append(n.requested[method], request)
	texts := n.answers[method]
	if len(texts) > 1 {
		n.answers[method] = texts[1:]
	}
	n.mu.Unlock()
	if len(texts) == 0 {
		n.t.Errorf("the test has no answer to %s", method)
		return nil, io.EOF
	}
	text := texts[0]
	if text == "hang up" {
		return nil, io.EOF
	}
	if text == "huge" {
		return []byte{0x7F, 0xFF, 0xFF, 0xFF}, nil
	}
	head := fmt.Sprintf(`{"callId":%d,"status":"SUCCESS"}`, id)
	var messages []byte
	if strings.HasPrefix(text, "{") {
		messages = appendMessage(jsonMessage("hadoop.common.RpcResponseHeaderProto", head), messages)
		messages = append(messages, appendMessage(jsonMessage(prefix+"ResponseProto", text), nil)...)
	} else {
		class, message, _ := strings.Cut(text, ": ")
		head = fmt.Sprintf(`{"callId":%d,"status":"ERROR","exceptionClassName":%q,"errorMsg":%q,"errorDetail":"ERROR_APPLICATION"}`, id, class, message)
		messages = appendMessage(jsonMessage("hadoop.common.RpcResponseHeaderProto", head), messages)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(messages))), messages...), nil
}

// dataNode is a data node that holds one block and stores others.
type dataNode struct {
	data     []byte
	checksum string                    // its answer to a request for one, as JSON
	crc      func(chunk []byte) uint32 // of chunks of 512 bytes; nil for none
	asked    chan [2]uint64            // offsets and lengths that were asked for; further ones are dropped
	listener net.Listener
	served   sync.WaitGroup
}

func newDataNode(t *testing.T, data string) *dataNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	d := &dataNode{data: []byte(data), asked: make(chan [2]uint64, 1), listener: l}
	d.served.Go(func() { serve(l, d.connection) })
	t.Cleanup(func() {
		_ = l.Close()
		d.served.Wait()
	})
	return d
}

func (d *dataNode) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

const (
	opWrite    = 0x50
	opRead     = 0x51
	opChecksum = 0x55
)

// note notes what a request asks for.
func (d *dataNode) note(request []byte) error {
	op, err := messageOf("hadoop.hdfs.OpReadBlockProto")
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(request, op.Interface()); err != nil {
		return err
	}
	select {
	case d.asked <- [2]uint64{op.field("offset").Uint(), op.field("len").Uint()}:
	default:
	}
	return nil
}

func (d *dataNode) connection(c net.Conn) error {
	in := bufio.NewReader(c)
	var head [3]byte // version and operation
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	request := make([]byte, size)
	if _, err := io.ReadFull(in, request); err != nil {
		return err
	}
	if head[2] == opRead {
		if err := d.note(request); err != nil {
			return err
		}
	}
	if head[2] == opChecksum {
		_, err = c.Write(appendMessage(jsonMessage("hadoop.hdfs.BlockOpResponseProto", d.checksum), nil))
		return err
	}
	// The library does not accept empty answers.
	kind := "CHECKSUM_NULL"
	if d.crc != nil {
		kind = "CHECKSUM_CRC32C"
	}
	response := jsonMessage("hadoop.hdfs.BlockOpResponseProto",
		`{"status":"SUCCESS","message":"fine","readOpChecksumInfo":{"checksum":{"type":"`+kind+`","bytesPerChecksum":512},"chunkOffset":0}}`)
	if _, err := c.Write(appendMessage(response, nil)); err != nil {
		return err
	}
	if head[2] == opRead {
		_, err = c.Write(append(packet(d.data, d.crc, false), packet(nil, nil, true)...))
		return err
	}
	return d.receive(in, c)
}

// packet returns data as a data node sends it, after the checksums of its chunks.
func packet(data []byte, crc func([]byte) uint32, last bool) []byte {
	head, _ := proto.Marshal(jsonMessage("hadoop.hdfs.PacketHeaderProto",
		fmt.Sprintf(`{"offsetInBlock":0,"seqno":0,"lastPacketInBlock":%v,"dataLen":%d}`, last, len(data))))
	var sums []byte
	for i := 0; crc != nil && i < len(data); i += 512 {
		sums = binary.BigEndian.AppendUint32(sums, crc(data[i:min(i+512, len(data))]))
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(head)))
	return slices.Concat(b, head, sums, data)
}

// receive acknowledges the packets of a block.
func (d *dataNode) receive(in *bufio.Reader, out io.Writer) error {
	for {
		var sizes [6]byte
		if _, err := io.ReadFull(in, sizes[:]); err != nil {
			return err
		}
		head := make([]byte, binary.BigEndian.Uint16(sizes[4:]))
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		header := newMessage("hadoop.hdfs.PacketHeaderProto")
		if err := proto.Unmarshal(head, header.Interface()); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.BigEndian.Uint32(sizes[:]))-4); err != nil {
			return err
		}
		ack := fmt.Sprintf(`{"seqno":%d,"reply":["SUCCESS"],"downstreamAckTimeNanos":1000}`, header.field("seqno").Int())
		if _, err := out.Write(appendMessage(jsonMessage("hadoop.hdfs.PipelineAckProto", ack), nil)); err != nil {
			return err
		}
		if header.field("lastPacketInBlock").Bool() {
			return nil
		}
	}
}

func newMessage(name string) answer {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		panic(err)
	}
	return answer{t.New()}
}

func jsonMessage(name, text string) proto.Message {
	m := newMessage(name).Interface()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%s %s: %v", name, text, err))
	}
	return m
}

// takeMessage parses a message after its length, and returns the rest.
func takeMessage(b []byte, m answer) []byte {
	size, n := binary.Uvarint(b)
	if err := proto.Unmarshal(b[n:n+int(size)], m.Interface()); err != nil {
		panic(err)
	}
	return b[n+int(size):]
}

func appendMessage(m proto.Message, b []byte) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// statusJSON describes a file or directory; more has further fields.
func statusJSON(kind, name string, length int, more string) string {
	return fmt.Sprintf(`{"fileType":%q,"path":%q,"length":%d,"permission":{"perm":420},"owner":"o","group":"g",`+
		`"modificationTime":%d,"accessTime":0,"blocksize":1048576,"fileId":7%s}`,
		kind, base64.StdEncoding.EncodeToString([]byte(name)), length, time.Now().UnixMilli(), more)
}

func info(status string) string { return `{"fs":` + status + `}` }

func fileInfo(length int) string { return info(statusJSON("IS_FILE", "", length, "")) }

var dirInfo = info(statusJSON("IS_DIR", "", 0, ""))

// block describes a block by its number, its length and the port of its data node.
func block(id string, length, port int) string {
	return fmt.Sprintf(`{"b":{"poolId":"p","blockId":%q,"generationStamp":1,"numBytes":%d},"offset":0,"corrupt":false,`+
		`"blockToken":{"identifier":"","password":"","kind":"","service":""},`+
		`"locs":[{"id":{"ipAddr":"127.0.0.1","hostName":"localhost","datanodeUuid":"u","xferPort":%d,"infoPort":1,"ipcPort":1}}]}`, id, length, port)
}

// blockLocations describes the blocks of a file.
func blockLocations(length int, open, complete bool, blocks ...string) string {
	last := ""
	if len(blocks) > 0 {
		last = `"lastBlock":` + blocks[len(blocks)-1] + `,`
	}
	return fmt.Sprintf(`{"locations":{"fileLength":%d,"blocks":[%s],"underConstruction":%v,%s"isLastBlockComplete":%v}}`,
		length, strings.Join(blocks, ","), open, last, complete)
}
