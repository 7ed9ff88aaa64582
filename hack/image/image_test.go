package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var labels = map[string]string{"org.opencontainers.image.version": "1.2.3"}

// made writes an image of two platforms and returns its directory and digest.
func made(t *testing.T) (string, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	index, err := layout{dir}.write([]platform{{"amd64", []byte("a"), []byte(`{"a":1}`)}, {"arm64", []byte("b"), []byte(`{"b":1}`)}},
		labels, map[string][]byte{"LICENSE": []byte("l"), "NOTICE": []byte("n")}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return dir, index.Digest
}

func read(t *testing.T, dir string, d descriptor, into any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(d.Digest, "sha256:")))
	if err != nil {
		t.Fatal(err)
	}
	if digest(data) != d.Digest || len(data) != d.Size {
		t.Errorf("%s: the blob has digest %s and %d bytes, want %d", d.Digest, digest(data), len(data), d.Size)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

type manifests struct {
	Manifests []descriptor `json:"manifests"`
}

// index.json leads a client to both platforms. Each image has a user that is not root, and an SBOM that refers to the image.
func TestLayout(t *testing.T) {
	dir, top := made(t)
	var outer, index manifests
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &outer); err != nil {
		t.Fatal(err)
	}
	if outer.Manifests[0].Digest != top || outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Errorf("index.json begins with %+v", outer.Manifests[0])
	}
	read(t, dir, outer.Manifests[0], &index)
	if len(index.Manifests) != 2 || index.Manifests[1].Platform["architecture"] != "arm64" {
		t.Fatalf("index %+v", index)
	}
	for i, d := range index.Manifests {
		var m struct {
			Config descriptor   `json:"config"`
			Layers []descriptor `json:"layers"`
		}
		read(t, dir, d, &m)
		var config struct {
			Config struct {
				User            string
				Entrypoint, Cmd []string
			} `json:"config"`
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			} `json:"rootfs"`
		}
		read(t, dir, m.Config, &config)
		if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/karpenter" || config.Config.Cmd[0] != "controller" {
			t.Errorf("config %+v", config)
		}
		files, diffID := unpack(t, read(t, dir, m.Layers[0], nil))
		if diffID != config.RootFS.DiffIDs[0] {
			t.Errorf("layer is %s inside, the config says %s", diffID, config.RootFS.DiffIDs[0])
		}
		if string(files["karpenter"]) != []string{"a", "b"}[i] {
			t.Errorf("binary %q", files["karpenter"])
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
			t.Error("no certificates")
		}
		var bill struct {
			Subject descriptor `json:"subject"`
		}
		read(t, dir, outer.Manifests[i+1], &bill)
		if bill.Subject.Digest != d.Digest {
			t.Errorf("the bill is of %s, not of %s", bill.Subject.Digest, d.Digest)
		}
	}
}

func unpack(t *testing.T, layer []byte) (map[string][]byte, string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, digest(plain)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: owner %d, time %s", h.Name, h.Uid, h.ModTime)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReproducible(t *testing.T) {
	_, a := made(t)
	_, b := made(t)
	if a != b {
		t.Errorf("two builds differ: %s and %s", a, b)
	}
}

// The binary of this test is a Go program, so its SBOM lists its modules.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom(binary, "1.2.3", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SPDXVersion string `json:"spdxVersion"`
		Packages    []struct{ Name, VersionInfo string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SPDXVersion != "SPDX-2.3" || len(doc.Packages) < 2 || doc.Packages[1].Name != "stdlib" {
		t.Errorf("bill %.300s", text)
	}
	if _, err := sbom([]byte("no program"), "1", time.Unix(0, 0)); err == nil {
		t.Error("made a bill of nothing")
	}
	if err := static([]byte("no program")); err == nil {
		t.Error("took nothing for a static binary")
	}
}
