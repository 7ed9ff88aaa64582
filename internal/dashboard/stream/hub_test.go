package stream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func text(r *Reader) string {
	var all []string
	for _, m := range r.Take() {
		all = append(all, string(m.Data()))
	}
	return strings.Join(all, "")
}

// A reader that does not read is dropped, and its memory is released. The other readers get all messages.
func TestSlowReaderIsDropped(t *testing.T) {
	h := New(3)
	slow, err := h.Subscribe(NewMessage(1, []byte(`{"first":true}`)))
	if err != nil {
		t.Fatal(err)
	}
	quick, err := h.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for i := range 2 * maxUnread {
		h.Publish(NewMessage(uint64(i+2), []byte(`{}`)))
		got += len(quick.Take())
	}
	if got != 2*maxUnread || h.Len() != 1 || h.Use().Dropped != 1 {
		t.Errorf("the quick reader got %d messages, %d readers are left, %d were dropped", got, h.Len(), h.Use().Dropped)
	}
	<-slow.Wake()
	if _, open := <-slow.Wake(); open || len(slow.Take()) != 0 {
		t.Error("the slow reader is open, or has messages")
	}
	slow.Close() // a second call changes nothing
}

// The bytes of unread messages are bounded, whatever their number. One message may be larger.
func TestBytesAreBounded(t *testing.T) {
	h := New(1)
	large := NewMessage(1, bytes.Repeat([]byte("x"), maxBytes+1))
	r, err := h.Subscribe(large)
	if err != nil || h.Len() != 1 {
		t.Fatal("a large first message is refused")
	}
	r.Take()
	h.Publish(large)
	if h.Len() != 1 {
		t.Error("a reader without unread messages is dropped because of one large message")
	}
	h.Publish(NewMessage(2, []byte("{}")))
	if h.Len() != 0 {
		t.Error("a reader with more unread bytes than are allowed is not dropped")
	}
}

func TestLimit(t *testing.T) {
	h := New(2)
	first, _ := h.Subscribe()
	if _, err := h.Subscribe(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Subscribe(); !errors.Is(err, ErrFull) {
		t.Errorf("the third reader: %v", err)
	}
	first.Close()
	if _, err := h.Subscribe(); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
	h.Close()
	if h.Len() != 0 {
		t.Error("readers are left after Close")
	}
}

// The compressed forms of any sequence of messages form one gzip stream.
func TestPackedMessagesFollowEachOther(t *testing.T) {
	var all []*Message
	for i := range 20 {
		all = append(all, NewMessage(uint64(i), []byte(fmt.Sprintf(`{"text":%q}`, strings.Repeat("ab", i*i*10)))), Comment())
	}
	for _, messages := range [][]*Message{all, all[7:], {all[3], all[1], all[3]}} {
		packed, plain := bytes.Clone(gzipHeader), []byte{}
		for _, m := range messages {
			packed, plain = append(packed, m.packed()...), append(plain, m.event...)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if !errors.Is(err, io.ErrUnexpectedEOF) { // the stream has no end, because it is still open
			t.Errorf("error is %v", err)
		}
		if !bytes.Equal(got, plain) {
			t.Errorf("%d bytes unpacked, want %d", len(got), len(plain))
		}
	}
}

// An event has its version as the ID.
func TestEvent(t *testing.T) {
	h := New(1)
	r, _ := h.Subscribe(NewMessage(7, []byte(`{"a":1}`)), Comment())
	if got := text(r); got != "id: 7\ndata: {\"a\":1}\n\n: \n\n" {
		t.Errorf("%q", got)
	}
}
