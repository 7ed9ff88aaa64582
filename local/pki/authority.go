package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"
)

// validity is how long certificates are valid, which is longer than a local cluster exists.
const validity = 10 * 365 * 24 * time.Hour

// authorityBits is the size of the authority's key.
const authorityBits = 2048

// An Authority signs the certificates of one cluster.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	now  time.Time
}

// Open reads the authority in dir. If there is none, it creates one that is valid from now.
func Open(dir string, now time.Time) (*Authority, error) {
	a := &Authority{dir: dir, now: now}
	pair := a.pair("ca")
	if pair.missing() {
		// The API server verifies the client's certificate on every request, not only once per connection, and RSA
		// signatures are the fastest to verify.
		key, err := rsa.GenerateKey(rand.Reader, authorityBits)
		if err != nil {
			return nil, fmt.Errorf("make key of authority: %w", err)
		}
		template := a.template(pkix.Name{CommonName: "karpenter-local"})
		template.IsCA = true
		template.BasicConstraintsValid = true
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			return nil, fmt.Errorf("sign authority: %w", err)
		}
		if err := pair.write(der, key); err != nil {
			return nil, err
		}
	}
	var err error
	if a.cert, a.key, err = pair.read(); err != nil {
		return nil, err
	}
	return a, nil
}

// Bundle returns the path of the authority's certificate.
func (a *Authority) Bundle() string { return a.pair("ca").Cert }

// KeyFile returns the path of the authority's private key.
func (a *Authority) KeyFile() string { return a.pair("ca").Key }

// Serving returns a certificate for hosts (names or addresses).
func (a *Authority) Serving(name string, hosts ...string) (Pair, error) {
	template := a.template(pkix.Name{CommonName: name})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(name, template)
}

// Client returns a certificate for a user in groups. name is the name of its file.
func (a *Authority) Client(name, user string, groups ...string) (Pair, error) {
	template := a.template(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(name, template)
}

// SigningKey returns a key pair without a certificate: a private key, and its public key in PEM.
func (a *Authority) SigningKey(name string) (Pair, error) {
	pair := Pair{
		Cert: filepath.Join(a.dir, name+".pub"),
		Key:  filepath.Join(a.dir, name+".key"),
	}
	if !pair.missing() {
		return pair, nil
	}
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	return pair, pair.writePublic(key)
}

// issue creates a key and a certificate from template, unless the pair exists.
func (a *Authority) issue(name string, template *x509.Certificate) (Pair, error) {
	pair := a.pair(name)
	if !pair.missing() {
		return pair, nil
	}
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate of %s: %w", name, err)
	}
	return pair, pair.write(der, key)
}

// template returns the fields that all certificates have in common. Certificates are valid from an hour ago, so that
// clients with a slow clock accept them.
func (a *Authority) template(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text()[:16])),
		Subject:      subject,
		NotBefore:    a.now.Add(-time.Hour),
		NotAfter:     a.now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func (a *Authority) pair(name string) Pair {
	return Pair{
		Cert: filepath.Join(a.dir, name+".crt"),
		Key:  filepath.Join(a.dir, name+".key"),
	}
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return key, nil
}
