package bootstrap

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

const (
	boundary   = "//"
	typeShell  = `text/x-shellscript; charset="us-ascii"`
	typeConfig = "application/node.eks.aws"
)

// A part is one entry of a MIME archive.
type part struct {
	contentType string
	body        string
}

// archive returns the parts as a MIME archive for cloud-init.
func archive(parts []part) string {
	var b strings.Builder
	fmt.Fprintf(&b, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=%q\n\n", boundary)
	for _, p := range parts {
		fmt.Fprintf(&b, "--%s\nContent-Type: %s\n\n%s\n", boundary, p.contentType, strings.TrimRight(p.body, "\n"))
	}
	fmt.Fprintf(&b, "--%s--\n", boundary)
	return strings.ReplaceAll(b.String(), "\r", "")
}

// isArchive reports whether text is a MIME archive already.
func isArchive(text string) bool {
	return strings.HasPrefix(text, "MIME-Version:") || strings.HasPrefix(text, "Content-Type:")
}

// split parses the entries of a MIME archive.
func split(text string) ([]part, error) {
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("read userData as MIME: %w", err)
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("read userData as MIME: %w", err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("read userData as MIME: content type is %s, want multipart/mixed", kind)
	}
	var parts []part
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read userData as MIME: %w", err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("read userData as MIME: %w", err)
		}
		parts = append(parts, part{contentType: p.Header.Get("Content-Type"), body: string(body)})
	}
}
