package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	authority, err := Open(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// A TLS server that requires a client certificate and a client that trusts only the authority can connect with these
// certificates.
func TestServerAndClientTrustEachOther(t *testing.T) {
	authority := open(t, t.TempDir())
	serving, err := authority.Serving("serving", "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := authority.Client("admin", "alice", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(readFile(t, authority.Bundle()))

	var user string
	var groups []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		subject := r.TLS.VerifiedChains[0][0].Subject
		user, groups = subject.CommonName, subject.Organization
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{load(t, serving)},
		ClientCAs:    pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server.StartTLS()
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{load(t, admin)},
	}}}
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if user != "alice" || len(groups) != 1 || groups[0] != "system:masters" {
		t.Errorf("the server saw %s of %v, want alice of system:masters", user, groups)
	}
}

// A second start must not change keys that running parts and users have.
func TestKeysAreKept(t *testing.T) {
	dir := t.TempDir()
	var before [][]byte
	for run := range 2 {
		authority := open(t, dir)
		serving, err := authority.Serving("serving", "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := authority.SigningKey("service-account")
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range []string{
			authority.Bundle(), authority.KeyFile(), serving.Cert, serving.Key, tokens.Cert, tokens.Key,
		} {
			data := readFile(t, path)
			if run == 0 {
				before = append(before, data)
			} else if string(before[i]) != string(data) {
				t.Errorf("%s changed", path)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v (%v), want 0600", path, info.Mode(), err)
			}
		}
	}
}

func load(t *testing.T, pair Pair) tls.Certificate {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
