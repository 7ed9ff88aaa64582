package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user ID that the program runs with, in the image and in the chart.
const user = 65532

// A file is one file of an image.
type file struct {
	path string // without a leading slash; a directory ends in a slash
	mode int64
	data []byte
}

// layer packs files, in the given order, into a compressed tar archive. diffID is the digest of the uncompressed
// archive.
func layer(files []file, at time.Time) (compressed []byte, diffID string, err error) {
	var plain bytes.Buffer
	t := tar.NewWriter(&plain)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.path, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, "", fmt.Errorf("pack %s: %w", f.path, err)
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, "", fmt.Errorf("pack %s: %w", f.path, err)
		}
	}
	if err := t.Close(); err != nil {
		return nil, "", fmt.Errorf("pack layer: %w", err)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, "", fmt.Errorf("compress layer: %w", err)
	}
	if _, err := z.Write(plain.Bytes()); err != nil {
		return nil, "", fmt.Errorf("compress layer: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, "", fmt.Errorf("compress layer: %w", err)
	}
	return packed.Bytes(), digest(plain.Bytes()), nil
}

// filesOf returns the files of an image.
func filesOf(binary []byte, texts map[string][]byte) []file {
	return []file{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte(fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", user))},
		{"etc/passwd", 0o644, []byte(fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", user, user))},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
		{"karpenter", 0o755, binary},
		{"licenses/", 0o755, nil},
		{"licenses/LICENSE", 0o644, texts["LICENSE"]},
		{"licenses/NOTICE", 0o644, texts["NOTICE"]},
		{"tmp/", 0o1777, nil},
	}
}

// certificates returns the root certificates for TLS connections.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // trusted for some certificates only, which a PEM file cannot express
		}
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer never fails
	}
	return b.Bytes()
}
