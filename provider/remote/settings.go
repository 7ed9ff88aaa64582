package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// Settings are the settings of providers in other processes.
type Settings struct {
	// Addresses are the addresses of the providers: unix:///path or host:port.
	Addresses []string
	// CAFile, CertFile and KeyFile are PEM files for TLS: the certificates of the authorities that sign those of providers,
	// and the client's own certificate and key.
	CAFile, CertFile, KeyFile string

	flags     *pflag.FlagSet
	addresses string // as given
}

// The flags of the settings and their environment variables.
const (
	flagAddress, envAddress = "provider-address", "PROVIDER_ADDRESS"
	flagCA, envCA           = "provider-ca-file", "PROVIDER_CA_FILE"
	flagCert, envCert       = "provider-certificate-file", "PROVIDER_CERTIFICATE_FILE"
	flagKey, envKey         = "provider-key-file", "PROVIDER_KEY_FILE"
)

// AddFlags adds the flags to fs and returns the settings that parsing and Validate set.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{flags: fs}
	fs.StringVar(&s.addresses, flagAddress, "",
		"Comma-separated addresses of providers in other processes, for --provider remote: unix:///path, or host:port with TLS ["+envAddress+"]")
	fs.StringVar(&s.CAFile, flagCA, "", "PEM file with the certificates that sign those of providers in other processes ["+envCA+"]")
	fs.StringVar(&s.CertFile, flagCert, "", "PEM file with the certificate that the controller shows to providers in other processes ["+envCert+"]")
	fs.StringVar(&s.KeyFile, flagKey, "", "PEM file with the key of --"+flagCert+" ["+envKey+"]")
	return s
}

// Validate reads environment variables, and returns an error for each setting that cannot be used.
func (s *Settings) Validate() error {
	for _, one := range []struct {
		flag, variable string
		to             *string
	}{{flagAddress, envAddress, &s.addresses}, {flagCA, envCA, &s.CAFile}, {flagCert, envCert, &s.CertFile}, {flagKey, envKey, &s.KeyFile}} {
		if value := os.Getenv(one.variable); value != "" && !s.flags.Changed(one.flag) {
			*one.to = value
		}
	}
	s.Addresses = nil
	for _, a := range strings.Split(s.addresses, ",") {
		if a = strings.TrimSpace(a); a != "" {
			s.Addresses = append(s.Addresses, a)
		}
	}
	var errs []error
	if len(s.Addresses) == 0 {
		errs = append(errs, fmt.Errorf("--%s (%s): is empty, use for example unix:///run/karpenter/provider.sock", flagAddress, envAddress))
	}
	for _, a := range s.Addresses {
		if err := CheckAddress(a); err != nil {
			errs = append(errs, fmt.Errorf("--%s (%s): %w", flagAddress, envAddress, err))
		}
	}
	if _, err := s.TLS(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// CheckAddress returns an error if the address is neither that of a socket nor host:port.
func CheckAddress(address string) error {
	if path, socket := strings.CutPrefix(address, "unix://"); socket && strings.HasPrefix(path, "/") {
		return nil
	}
	host, port, found := strings.Cut(address, ":")
	if !found || host == "" || port == "" || strings.Contains(address, "/") {
		return fmt.Errorf("%q is neither unix:///path nor host:port", address)
	}
	return nil
}

// TLS returns the configuration by which providers at host:port are authenticated. Without a CA file, the certificates of
// the system are used.
func (s *Settings) TLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		data, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--%s (%s): %w", flagCA, envCA, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--%s (%s): %s has no certificate", flagCA, envCA, s.CAFile)
		}
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		return nil, fmt.Errorf("--%s and --%s: set both or none", flagCert, flagKey)
	}
	if s.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile); err != nil {
			return nil, fmt.Errorf("--%s (%s): %w", flagCert, envCert, err)
		}
		// The files are read again for each connection, because certificates are renewed.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
			return &c, err
		}
	}
	return config, nil
}
