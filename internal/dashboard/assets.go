package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/karpenter-go/karpenter/internal/dashboard/stream"
)

// files are the built page. The directory web of the repository has its source.
//
//go:embed assets
var files embed.FS

// An asset is a file of the page.
type asset struct {
	kind          string
	plain, packed []byte
	tag           string
}

// kinds are the content types of the files that are served, by extension.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// loadAssets returns the files by their paths, each as it is and compressed. The path / is that of index.html.
func loadAssets() (map[string]asset, error) {
	out := map[string]asset{}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		kind, served := kinds[path.Ext(name)]
		if err != nil || entry.IsDir() || !served {
			return err
		}
		plain, err := files.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		packed, err := compress(plain, gzip.BestCompression)
		if err != nil {
			return fmt.Errorf("compress %s: %w", name, err)
		}
		sum := sha256.Sum256(plain)
		out[strings.TrimPrefix(name, "assets")] = asset{kind, plain, packed, hex.EncodeToString(sum[:8])}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load the page: %w", err)
	}
	out["/"] = out["/index.html"]
	return out, nil
}

func compress(data []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return b.Bytes(), nil
}

// asset serves a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[path.Clean(r.URL.Path)]
	switch {
	case !ok:
		refuse(w, problem{http.StatusNotFound, "no such page: " + r.URL.Path, "the dashboard is at /"})
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, problem{http.StatusMethodNotAllowed, r.Method + " is not supported here", "use GET"})
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	data, tag := a.plain, `"`+a.tag+`"`
	if stream.AcceptsGzip(r) {
		data, tag = a.packed, `"`+a.tag+`-gz"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) // an error means that the client has disconnected
	}
}
