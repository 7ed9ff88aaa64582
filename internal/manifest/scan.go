package manifest

import (
	"bytes"
	"fmt"
	"strconv"
)

// A cursor splits JSON into values without decoding it. It only finds the beginnings and ends of values; malformed
// values are left to the decoder.
type cursor struct {
	data []byte
	at   int
}

// A cutError is a syntax error in JSON. offset is where it was found, or the beginning of a value that is not closed.
type cutError struct {
	offset int
	what   string
}

func (e *cutError) Error() string { return e.what }

func (c *cursor) fail(format string, a ...any) error {
	return &cutError{offset: c.at, what: fmt.Sprintf(format, a...)}
}

// space skips white space.
func (c *cursor) space() {
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return
		}
	}
}

// end reports whether only white space is left.
func (c *cursor) end() bool {
	c.space()
	return c.at == len(c.data)
}

// next skips white space and then b, and reports whether b was there.
func (c *cursor) next(b byte) bool {
	c.space()
	if c.at < len(c.data) && c.data[c.at] == b {
		c.at++
		return true
	}
	return false
}

// value returns the bytes of the next value.
func (c *cursor) value() ([]byte, error) {
	c.space()
	start := c.at
	if c.at == len(c.data) {
		return nil, c.fail("unexpected end of JSON, expected a value")
	}
	switch b := c.data[c.at]; b {
	case '{', '[':
		if err := c.nested(); err != nil {
			return nil, err
		}
	case '"':
		if err := c.text(); err != nil {
			return nil, err
		}
	default:
		for c.at < len(c.data) && !bytes.ContainsRune([]byte(",]} \t\r\n:"), rune(c.data[c.at])) {
			c.at++
		}
		if c.at == start {
			return nil, c.fail("unexpected %q, expected a JSON value", b)
		}
	}
	return c.data[start:c.at], nil
}

// nested skips an object or array.
func (c *cursor) nested() error {
	start, depth := c.at, 0
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case '"':
			if err := c.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				c.at++
				return nil
			}
		}
		c.at++
	}
	c.at = start
	return c.fail("unexpected end of JSON: %q is not closed", c.data[start])
}

// text skips a string.
func (c *cursor) text() error {
	start := c.at
	for c.at++; c.at < len(c.data); c.at++ {
		i := bytes.IndexByte(c.data[c.at:], '"')
		if i < 0 {
			break
		}
		c.at += i
		escapes := 0
		for c.data[c.at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			c.at++
			return nil
		}
	}
	c.at = start
	return c.fail("unexpected end of JSON: the string is not closed")
}

// eachField calls visit with the fields of a JSON object, in their order, until visit returns false.
func eachField(data []byte, visit func(key string, value []byte) bool) error {
	c := &cursor{data: data}
	if !c.next('{') {
		return c.fail("not an object")
	}
	for !c.next('}') {
		quoted, err := c.value()
		if err != nil {
			return err
		}
		key, err := strconv.Unquote(string(quoted))
		if err != nil {
			key = string(bytes.Trim(quoted, `"`))
		}
		if !c.next(':') {
			return c.fail("missing colon after %q", key)
		}
		value, err := c.value()
		if err != nil {
			return err
		}
		if !visit(key, value) {
			return nil
		}
		if !c.next(',') {
			if !c.next('}') {
				return c.fail("missing comma after the field %q", key)
			}
			return nil
		}
	}
	return nil
}

// eachItem calls visit with the items of a JSON array, in their order.
func eachItem(data []byte, visit func(i int, item []byte)) error {
	c := &cursor{data: data}
	if !c.next('[') {
		return c.fail("not an array")
	}
	for i := 0; !c.next(']'); i++ {
		item, err := c.value()
		if err != nil {
			return err
		}
		visit(i, item)
		if !c.next(',') {
			if !c.next(']') {
				return c.fail("missing comma after item %d", i+1)
			}
			return nil
		}
	}
	return nil
}
