package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A Listener describes the address at which a provider is offered.
type Listener struct {
	// Address is unix:///path for a socket, or host:port.
	Address string
	// CertFile and KeyFile are the certificate and key for host:port. ClientCAFile has the certificates of the authorities
	// that sign client certificates.
	CertFile, KeyFile, ClientCAFile string
}

// Credentials returns the authentication of clients. It is nil for a socket, because only its owner and group may use a
// socket.
func (l Listener) Credentials() (credentials.TransportCredentials, error) {
	if strings.HasPrefix(l.Address, "unix://") {
		return nil, nil
	}
	if l.CertFile == "" || l.KeyFile == "" || l.ClientCAFile == "" {
		return nil, errors.New("an address other than unix:///path needs a certificate, its key and the certificates that sign those of clients")
	}
	data, err := os.ReadFile(l.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificates of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("read certificates of clients: %s has none", l.ClientCAFile)
	}
	if _, err := tls.LoadX509KeyPair(l.CertFile, l.KeyFile); err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		// The files are read again for each connection, because certificates are renewed.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c, err := tls.LoadX509KeyPair(l.CertFile, l.KeyFile)
			return &c, err
		},
	}), nil
}

// Listen opens the address. A socket that exists at the path, as one of an earlier process, is replaced.
func (l Listener) Listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	path, socket := strings.CutPrefix(l.Address, "unix://")
	if !socket {
		listener, err := config.Listen(ctx, "tcp", l.Address)
		if err != nil {
			return nil, fmt.Errorf("listen at %s: %w", l.Address, err)
		}
		return listener, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket of an earlier process: %w", err)
		}
	}
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", l.Address, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(fmt.Errorf("protect socket: %w", err), listener.Close())
	}
	return listener, nil
}

// A Controller serves a provider while its manager is the leader.
type Controller struct {
	server   *Server
	listener Listener
}

// NewController returns a controller that serves the provider of c.
func NewController(c Config, l Listener) *Controller { return &Controller{server: New(c), listener: l} }

// Name is the name of the controller in logs.
func (c *Controller) Name() string { return "provider.serve" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	if err := mgr.Add(manager.RunnableFunc(c.Run)); err != nil {
		return fmt.Errorf("set up %s: %w", c.Name(), err)
	}
	return nil
}

// Run serves until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	trust, err := c.listener.Credentials()
	if err != nil {
		return err
	}
	listener, err := c.listener.Listen(ctx)
	if err != nil {
		return err
	}
	server := c.server.Register(trust)
	stop := context.AfterFunc(ctx, server.Stop) // a graceful stop would wait until clients close their streams
	defer stop()
	c.server.config.Log.Info("serving provider", "provider", c.server.config.Provider.Name(), "address", c.listener.Address)
	if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve provider: %w", err)
	}
	return nil
}
