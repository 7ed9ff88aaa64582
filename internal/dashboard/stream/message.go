package stream

import (
	"bytes"
	"compress/flate"
	"strconv"
	"sync"
)

// A Message is one event of the stream. It is immutable.
type Message struct {
	version uint64
	event   []byte
	packed  func() []byte
}

// NewMessage returns an event whose data is the JSON object. The JSON must not contain line breaks; encoded JSON
// contains none. The ID of the event is version.
func NewMessage(version uint64, json []byte) *Message {
	event := make([]byte, 0, len(json)+40)
	event = append(event, "id: "...)
	event = strconv.AppendUint(event, version, 10)
	event = append(event, "\ndata: "...)
	event = append(event, json...)
	m := newMessage(append(event, "\n\n"...))
	m.version = version
	return m
}

// Version returns the ID of the event.
func (m *Message) Version() uint64 { return m.version }

// Comment returns a comment, which clients ignore. It shows that the connection works.
func Comment() *Message { return newMessage([]byte(": \n\n")) }

func newMessage(event []byte) *Message {
	m := &Message{event: event}
	m.packed = sync.OnceValue(func() []byte { return pack(event) })
	return m
}

// Data returns the event as text.
func (m *Message) Data() []byte { return m.event }

// gzipHeader is the start of a gzip stream without a name and a time.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// pack returns the event as complete blocks of a deflate stream. They refer to no earlier data and end at a byte
// boundary, so the blocks of several messages can be concatenated in any stream.
func pack(event []byte) []byte {
	var b bytes.Buffer
	w, _ := packers.Get().(*flate.Writer)
	w.Reset(&b)
	defer packers.Put(w)
	if _, err := w.Write(event); err != nil {
		return nil // writes to a buffer do not fail
	}
	if err := w.Flush(); err != nil {
		return nil
	}
	return b.Bytes()
}

// packers are unused compressors. They are reused, because each needs several hundred kB.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}
