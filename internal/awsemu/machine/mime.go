package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// A part is one entry of a multipart archive.
type part struct {
	kind string // media type
	body []byte
}

// archive splits user data into its parts. User data that is not a MIME archive is one part without a kind.
func archive(raw []byte) ([]part, error) {
	if !isMIME(raw) {
		return []part{{body: raw}}, nil
	}
	message, err := mail.ReadMessage(bytes.NewReader(bytes.TrimLeft(raw, "\r\n")))
	if err != nil {
		return nil, fmt.Errorf("cloud-init: read MIME header: %w", err)
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("cloud-init: read content type: %w", err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		body, err := io.ReadAll(message.Body)
		if err != nil {
			return nil, fmt.Errorf("cloud-init: read MIME body: %w", err)
		}
		return []part{{kind, body}}, nil
	}
	return multiparts(message.Body, params["boundary"])
}

// multiparts reads the parts of an archive. A truncated archive is an error, because its configuration is incomplete.
func multiparts(body io.Reader, boundary string) ([]part, error) {
	if boundary == "" {
		return nil, errors.New("cloud-init: multipart archive without boundary")
	}
	var parts []part
	reader := multipart.NewReader(body, boundary)
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cloud-init: read MIME part %d: %w", len(parts)+1, err)
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("cloud-init: read MIME part %d: %w", len(parts)+1, err)
		}
		kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil {
			return nil, fmt.Errorf("cloud-init: read content type of part %d: %w", len(parts)+1, err)
		}
		parts = append(parts, part{kind, data})
	}
}

// isMIME reports whether user data begins like a MIME archive.
func isMIME(raw []byte) bool {
	head := bytes.TrimLeft(raw, " \t\r\n")
	return bytes.HasPrefix(head, []byte("MIME-Version:")) || bytes.HasPrefix(head, []byte("Content-Type:"))
}
