package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Media types of the OCI image specification.
const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeEmpty    = "application/vnd.oci.empty.v1+json"
	typeSPDX     = "application/spdx+json"
)

// A descriptor refers to a blob.
type descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int               `json:"size"`
	Platform     map[string]string `json:"platform,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// A platform is one build of the program.
type platform struct {
	arch   string
	binary []byte
	sbom   []byte
}

// A layout is an OCI image layout in a directory.
type layout struct{ dir string }

// contents is index.json.
type contents struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// digest returns the digest of data, which is the name of its blob.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// blob writes data under its digest.
func (l layout) blob(mediaType string, data []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digest(data), Size: len(data)}
	path := filepath.Join(l.dir, "blobs", "sha256", strings.TrimPrefix(d.Digest, "sha256:"))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return d, fmt.Errorf("make directory: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return d, fmt.Errorf("write blob: %w", err)
	}
	return d, nil
}

// object writes a value as a blob of JSON.
func (l layout) object(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, fmt.Errorf("encode %s: %w", mediaType, err)
	}
	return l.blob(mediaType, data)
}

// write replaces the layout with the image of all platforms and their SBOMs. The version label is the image's tag in
// the layout. It returns the descriptor of the image index.
func (l layout) write(platforms []platform, labels map[string]string, texts map[string][]byte, at time.Time) (descriptor, error) {
	if err := os.RemoveAll(l.dir); err != nil {
		return descriptor{}, fmt.Errorf("remove old image: %w", err)
	}
	var images, bills []descriptor
	for _, p := range platforms {
		image, err := l.image(p, labels, texts, at)
		if err != nil {
			return descriptor{}, fmt.Errorf("image for %s: %w", p.arch, err)
		}
		bill, err := l.bill(p, image, labels)
		if err != nil {
			return descriptor{}, fmt.Errorf("bill of materials for %s: %w", p.arch, err)
		}
		images, bills = append(images, image), append(bills, bill)
	}
	index, err := l.object(typeIndex, map[string]any{
		"schemaVersion": 2, "mediaType": typeIndex, "manifests": images, "annotations": labels,
	})
	if err != nil {
		return descriptor{}, err
	}
	top := index
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": labels["org.opencontainers.image.version"]}
	if err := l.put(append([]descriptor{top}, bills...)); err != nil {
		return descriptor{}, err
	}
	if err := os.WriteFile(filepath.Join(l.dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644); err != nil {
		return descriptor{}, fmt.Errorf("write oci-layout: %w", err)
	}
	return index, nil
}

// put writes index.json, which lists what the layout has.
func (l layout) put(manifests []descriptor) error {
	outer, err := json.MarshalIndent(contents{SchemaVersion: 2, MediaType: typeIndex, Manifests: manifests}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode index.json: %w", err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "index.json"), outer, 0o644); err != nil {
		return fmt.Errorf("write index.json: %w", err)
	}
	return nil
}

// add appends manifests to index.json.
func (l layout) add(more ...descriptor) error {
	data, err := os.ReadFile(filepath.Join(l.dir, "index.json"))
	if err != nil {
		return fmt.Errorf("read index.json: %w", err)
	}
	var have contents
	if err := json.Unmarshal(data, &have); err != nil {
		return fmt.Errorf("decode index.json: %w", err)
	}
	return l.put(append(have.Manifests, more...))
}

// image writes the image of one platform.
func (l layout) image(p platform, labels map[string]string, texts map[string][]byte, at time.Time) (descriptor, error) {
	data, diffID, err := layer(filesOf(p.binary, texts), at)
	if err != nil {
		return descriptor{}, err
	}
	content, err := l.blob(typeLayer, data)
	if err != nil {
		return descriptor{}, err
	}
	created := at.UTC().Format(time.RFC3339)
	config, err := l.object(typeConfig, map[string]any{
		"created": created, "architecture": p.arch, "os": "linux",
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", user, user), "Entrypoint": []string{"/karpenter"}, "Cmd": []string{"controller"},
			"Env":        []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			"WorkingDir": "/", "Labels": labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{diffID}},
		"history": []map[string]any{{"created": created, "created_by": "hack/image"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := l.object(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{content}, "annotations": labels,
	})
	manifest.Platform = map[string]string{"architecture": p.arch, "os": "linux"}
	return manifest, err
}

// bill writes the SBOM of one platform as an artifact that refers to the image of the platform. Registries find it by
// that reference.
func (l layout) bill(p platform, image descriptor, labels map[string]string) (descriptor, error) {
	return l.artifact(typeSPDX, image, nil, labels, p.sbom)
}

// artifact writes a manifest with one layer. The manifest refers to the image and has the labels, the layer has the annotations.
func (l layout) artifact(mediaType string, image descriptor, annotations, labels map[string]string, content []byte) (descriptor, error) {
	empty, err := l.blob(typeEmpty, []byte("{}"))
	if err != nil {
		return descriptor{}, err
	}
	layer, err := l.blob(mediaType, content)
	if err != nil {
		return descriptor{}, err
	}
	layer.Annotations = annotations
	v := map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "artifactType": mediaType, "config": empty, "layers": []descriptor{layer},
		"subject": descriptor{MediaType: image.MediaType, Digest: image.Digest, Size: image.Size},
	}
	if labels != nil {
		v["annotations"] = labels
	}
	manifest, err := l.object(typeManifest, v)
	manifest.ArtifactType = mediaType
	return manifest, err
}
