package pki

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// A Pair names two PEM files: a certificate (or public key) and its private key.
type Pair struct {
	Cert, Key string
}

// missing reports whether either file is absent.
func (p Pair) missing() bool {
	_, err1 := os.Stat(p.Cert)
	_, err2 := os.Stat(p.Key)
	return err1 != nil || err2 != nil
}

// write stores a certificate and its key.
func (p Pair) write(der []byte, key crypto.Signer) error {
	if err := p.writeKey(key); err != nil {
		return err
	}
	return writePEM(p.Cert, "CERTIFICATE", der)
}

// writePublic stores a private key and its public key.
func (p Pair) writePublic(key crypto.Signer) error {
	if err := p.writeKey(key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode public key: %w", err)
	}
	return writePEM(p.Cert, "PUBLIC KEY", der)
}

func (p Pair) writeKey(key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	return writePEM(p.Key, "PRIVATE KEY", der)
}

// read loads a certificate and its key, and checks that they match.
func (p Pair) read() (*x509.Certificate, crypto.Signer, error) {
	pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", p.Cert, err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("read authority: its key cannot sign")
	}
	return pair.Leaf, signer, nil
}

func writePEM(path, kind string, der []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}
