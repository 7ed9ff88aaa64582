package backtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the maximum length of a line in bytes. Events of an audit log have whole objects of requests and responses.
const maxLine = 16 << 20

// errLongLine is the error of a line with more than maxLine bytes.
var errLongLine = fmt.Errorf("is longer than %d MiB", maxLine>>20)

// Read reads a trace: a CSV file with a line for each pod, or an audit log of Kubernetes as JSON lines. file is its name
// in messages. progress, which may be nil, is called from time to time with the number of lines that were read.
func Read(file string, r io.Reader, progress func(lines int)) (*Trace, error) {
	in := &lines{r: bufio.NewReaderSize(r, 1<<20), progress: progress}
	first, err := in.peek()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	bad := &mistakes{file: file}
	switch first {
	case 0:
		return nil, fmt.Errorf("%s is empty: give a CSV file with a header, or an audit log", file)
	case '{':
		return readAudit(in, bad)
	case '[':
		return nil, fmt.Errorf("%s:1: a JSON array is not a trace: give one audit event in each line, as jq -c '.[]' prints", file)
	}
	return readCSV(in, bad)
}

// lines reads a text line by line.
type lines struct {
	r        *bufio.Reader
	number   int
	buf      []byte
	progress func(lines int)
}

// peek returns the first byte that is not white space, 0 at the end. It does not consume that byte.
func (l *lines) peek() (byte, error) {
	if mark, err := l.r.Peek(3); err == nil && bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = l.r.Discard(3) // the byte order mark
	}
	for {
		b, err := l.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		switch b {
		case '\n':
			l.number++
		case ' ', '\t', '\r':
		default:
			return b, l.r.UnreadByte()
		}
	}
}

// each calls read for each line. It ends early when bad has maxMistakes mistakes, and returns the mistakes as an error.
func (l *lines) each(bad *mistakes, read func(line []byte)) error {
	for !bad.full() {
		line, err := l.next()
		if err != nil {
			return fmt.Errorf("read %s: %w", bad.file, err)
		}
		if line == nil {
			break
		}
		read(line)
	}
	return bad.err()
}

// next returns the next line that is not empty, without its end. It is valid until the next call. At the end it returns
// nil.
func (l *lines) next() ([]byte, error) {
	for {
		l.buf = l.buf[:0]
		for {
			part, err := l.r.ReadSlice('\n')
			if len(l.buf)+len(part) > maxLine {
				return nil, fmt.Errorf("line %d %w", l.number+1, errLongLine)
			}
			l.buf = append(l.buf, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			if err != nil && len(l.buf) == 0 {
				return nil, nil
			}
			break
		}
		if l.number++; l.progress != nil && l.number%100_000 == 0 {
			l.progress(l.number)
		}
		if line := bytes.TrimSpace(l.buf); len(line) > 0 {
			return line, nil
		}
	}
}
