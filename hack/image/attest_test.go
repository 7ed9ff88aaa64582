package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// attached returns the entries of index.json and the only layer of the one with that type.
func attached(t *testing.T, dir, artifactType string) (descriptor, descriptor, []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var have contents
	if err := json.Unmarshal(data, &have); err != nil {
		t.Fatal(err)
	}
	for _, d := range have.Manifests {
		if d.ArtifactType == artifactType {
			var m struct {
				Subject descriptor   `json:"subject"`
				Layers  []descriptor `json:"layers"`
			}
			read(t, dir, d, &m)
			if m.Subject.Digest != have.Manifests[0].Digest {
				t.Errorf("%s refers to %s, want the image %s", artifactType, m.Subject.Digest, have.Manifests[0].Digest)
			}
			return d, m.Layers[0], read(t, dir, m.Layers[0], nil)
		}
	}
	t.Fatalf("no %s in %s", artifactType, data)
	return descriptor{}, descriptor{}, nil
}

func attest(t *testing.T, key *ecdsa.PrivateKey) (dir, digest string) {
	t.Helper()
	dir, digest = made(t)
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var have contents
	if err := json.Unmarshal(data, &have); err != nil {
		t.Fatal(err)
	}
	o := origin{version: "1.2.3", commit: "abc", architectures: []string{"amd64", "arm64"}, epoch: time.Unix(0, 0)}
	if err := (layout{dir}).attest(have.Manifests[0], o, key); err != nil {
		t.Fatal(err)
	}
	return dir, digest
}

// verified fails the test if the signature is not that of data.
func verified(t *testing.T, key *ecdsa.PrivateKey, data []byte, signature string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); !ecdsa.VerifyASN1(&key.PublicKey, sum[:], raw) {
		t.Errorf("%q is no signature of %q", signature, data)
	}
}

// The image and its provenance are signed in the formats of cosign and DSSE, under the tags that cosign derives from the digest.
func TestSigned(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir, digest := attest(t, key)
	tag := strings.Replace(digest, ":", "-", 1)

	entry, layer, payload := attached(t, dir, typeSimpleSigning)
	if entry.Annotations[tagKey] != tag+".sig" || !strings.Contains(string(payload), `"docker-manifest-digest":"`+digest+`"`) {
		t.Errorf("%v signs %s", entry.Annotations, payload)
	}
	verified(t, key, payload, layer.Annotations[signatureKey])

	entry, layer, payload = attached(t, dir, typeEnvelope)
	if entry.Annotations[tagKey] != tag+".att" || layer.Annotations["predicateType"] != predicateSLSA {
		t.Errorf("attestation %v with layer %v", entry.Annotations, layer.Annotations)
	}
	var envelope struct {
		PayloadType string `json:"payloadType"`
		Payload     []byte `json:"payload"`
		Signatures  []struct {
			Sig string `json:"sig"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(payload, &envelope); err != nil {
		t.Fatal(err)
	}
	verified(t, key, preAuthentication(envelope.Payload), envelope.Signatures[0].Sig)
	for _, want := range []string{strings.TrimPrefix(digest, "sha256:"), `"gitCommit":"abc"`, `"version":"1.2.3"`} {
		if !strings.Contains(string(envelope.Payload), want) {
			t.Errorf("the provenance lacks %s: %s", want, envelope.Payload)
		}
	}
}

// Without a key the provenance is attached without a signature, and nothing claims to be one.
func TestNotSigned(t *testing.T) {
	dir, digest := attest(t, nil)
	_, _, statement := attached(t, dir, typeStatement)
	if !strings.Contains(string(statement), strings.TrimPrefix(digest, "sha256:")) {
		t.Errorf("provenance %s", statement)
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(index), "cosign") || strings.Contains(string(index), ".sig") {
		t.Errorf("index.json %s", index)
	}
}

func TestSigningKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	for name, c := range map[string]struct{ text, refused string }{
		"sec1":      {block("EC PRIVATE KEY", sec1), ""},
		"pkcs8":     {block("PRIVATE KEY", pkcs8), ""},
		"rsa":       {block("PRIVATE KEY", wrong), "want an ECDSA key"},
		"encrypted": {block("ENCRYPTED SIGSTORE PRIVATE KEY", pkcs8), "is encrypted"},
		"text":      {"hello", "not a PEM file"},
		"broken":    {block("PRIVATE KEY", []byte("x")), "asn1"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key.pem")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := signingKey(file)
			switch {
			case c.refused == "" && (err != nil || !got.Equal(key)):
				t.Errorf("got %v, %v", got, err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("error %v, want %q", err, c.refused)
			}
		})
	}
	if got, err := signingKey(""); got != nil || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	if _, err := signingKey(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file is accepted")
	}
}
