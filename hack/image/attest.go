package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Media types and annotations of signatures and attestations, as cosign and policy controllers read them.
const (
	typeSimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	typeEnvelope      = "application/vnd.dsse.envelope.v1+json"
	typeStatement     = "application/vnd.in-toto+json"
	predicateSLSA     = "https://slsa.dev/provenance/v1"
	signatureKey      = "dev.cosignproject.cosign/signature"
	tagKey            = "org.opencontainers.image.ref.name"
)

// An origin is what an image was built from.
type origin struct {
	version, commit string
	architectures   []string
	epoch           time.Time
}

// provenance returns the in-toto statement that the image index was built from o, with a predicate of SLSA v1. It has no time
// and no name of a machine, so that a second build of the same source gives the same statement.
func provenance(index descriptor, o origin) ([]byte, error) {
	type object = map[string]any
	sources := []object{{"uri": "pkg:golang/stdlib@" + runtime.Version()}}
	if o.commit != "" {
		sources = append(sources, object{
			"uri": "git+https://github.com/karpenter-go/karpenter", "digest": object{"gitCommit": o.commit},
		})
	}
	return json.Marshal(object{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       []object{{"name": "karpenter", "digest": object{"sha256": strings.TrimPrefix(index.Digest, "sha256:")}}},
		"predicateType": predicateSLSA,
		"predicate": object{
			"buildDefinition": object{
				"buildType": "https://github.com/karpenter-go/karpenter/hack/image",
				"externalParameters": object{
					"version": o.version, "architectures": o.architectures, "sourceDateEpoch": o.epoch.Unix(),
				},
				"resolvedDependencies": sources,
			},
			"runDetails": object{"builder": object{"id": "https://github.com/karpenter-go/karpenter/hack/image"}},
		},
	})
}

// attest adds the provenance of the image to the layout, and signs both if key is not nil. Without a key the statement is
// attached as it is, which shows where an image claims to come from and proves nothing.
func (l layout) attest(index descriptor, o origin, key *ecdsa.PrivateKey) error {
	statement, err := provenance(index, o)
	if err != nil {
		return fmt.Errorf("encode provenance: %w", err)
	}
	if key == nil {
		d, err := l.artifact(typeStatement, index, nil, nil, statement)
		if err != nil {
			return err
		}
		return l.add(d)
	}
	envelope, err := sealed(statement, key)
	if err != nil {
		return err
	}
	attestation, err := l.artifact(typeEnvelope, index,
		map[string]string{"predicateType": predicateSLSA, signatureKey: ""}, nil, envelope)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(map[string]any{
		"critical": map[string]any{
			"identity": map[string]string{"docker-reference": ""},
			"image":    map[string]string{"docker-manifest-digest": index.Digest},
			"type":     "cosign container image signature",
		},
		"optional": nil,
	})
	if err != nil {
		return fmt.Errorf("encode signature: %w", err)
	}
	signature, err := sign(payload, key)
	if err != nil {
		return err
	}
	signed, err := l.artifact(typeSimpleSigning, index, map[string]string{signatureKey: signature}, nil, payload)
	if err != nil {
		return err
	}
	attestation.Annotations = map[string]string{tagKey: tagOf(index, "att")}
	signed.Annotations = map[string]string{tagKey: tagOf(index, "sig")}
	return l.add(attestation, signed)
}

// tagOf returns the tag by which cosign finds the attestation (att) or the signature (sig) of an image.
func tagOf(index descriptor, kind string) string {
	return strings.Replace(index.Digest, ":", "-", 1) + "." + kind
}

// sealed returns the statement in a signed DSSE envelope.
func sealed(statement []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	signature, err := sign(preAuthentication(statement), key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"payloadType": typeStatement, "payload": base64.StdEncoding.EncodeToString(statement),
		"signatures": []map[string]string{{"keyid": "", "sig": signature}},
	})
}

// preAuthentication is the text that DSSE signs: its name, and the type and the body with their lengths.
func preAuthentication(statement []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(typeStatement), typeStatement, len(statement), statement)
}

// sign returns the ECDSA signature of the SHA-256 of data, as base64 of ASN.1.
func sign(data []byte, key *ecdsa.PrivateKey) (string, error) {
	sum := sha256.Sum256(data)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// signingKey reads an ECDSA key from a PEM file, in PKCS #8 or SEC 1. It returns nil if no file is named.
func signingKey(file string) (*ecdsa.PrivateKey, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-sign-key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("-sign-key: %s is not a PEM file; "+
			"make a key with openssl ecparam -genkey -name prime256v1 -noout", file)
	}
	if strings.Contains(block.Type, "ENCRYPTED") {
		return nil, fmt.Errorf("-sign-key: the key in %s is encrypted; decrypt it to a file that only the build reads", file)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("-sign-key: %s: %w", file, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("-sign-key: want an ECDSA key, as cosign verifies")
	}
	return key, nil
}
