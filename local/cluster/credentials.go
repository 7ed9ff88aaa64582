package cluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenter-go/karpenter/local/pki"
)

const (
	// Name is the cluster's name, for nodes and the controller.
	Name = "local"
	// ServiceCIDR is the range of service addresses.
	ServiceCIDR = "10.100.0.0/16"
	// DNSAddress is the address of the service kube-system/kube-dns.
	DNSAddress = "10.100.0.10"
	// apiServiceAddress is the address of the service default/kubernetes.
	apiServiceAddress = "10.100.0.1"
)

// A user is a user of the API server who has a client certificate.
type user struct {
	file   string // name of the certificate's file and of the part
	name   string
	groups []string
}

// users are the clients of the API server that have a certificate. The hollow
// kubelet, the emulator and Cluster API act for many nodes, so they are administrators.
// The controller is not listed: it authenticates with a token.
var users = []user{
	{"admin", "admin", []string{"system:masters"}},
	{"kube-scheduler", "system:kube-scheduler", nil},
	{"kube-controller-manager", "system:kube-controller-manager", nil},
	{"kwok", "hollow-kubelet", []string{"system:masters"}},
	{"awsemu", "aws-emulator", []string{"system:masters"}},
	{"clusterapi", "cluster-api", []string{"system:masters"}},
}

// keys are the keys and certificates for the parts.
type keys struct {
	authority *pki.Authority
	serving   pki.Pair
	tokens    pki.Pair // of service accounts
}

// ensureKeys creates the keys, certificates and kubeconfigs that do not exist yet.
func (c *Cluster) ensureKeys() (keys, error) {
	authority, err := pki.Open(c.dir.PKI(), c.clock.Now())
	if err != nil {
		return keys{}, fmt.Errorf("open authority: %w", err)
	}
	serving, err := authority.Serving("serving", "127.0.0.1", "localhost", apiServiceAddress,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local")
	if err != nil {
		return keys{}, err
	}
	tokens, err := authority.SigningKey("service-account")
	if err != nil {
		return keys{}, err
	}
	for _, u := range users {
		pair, err := authority.Client(u.file, u.name, u.groups...)
		if err != nil {
			return keys{}, err
		}
		if err := c.writeUser(u, authority.Bundle(), pair); err != nil {
			return keys{}, err
		}
	}
	return keys{authority, serving, tokens}, nil
}

// writeUser writes the kubeconfig of u.
func (c *Cluster) writeUser(u user, bundle string, pair pki.Pair) error {
	cert, err := os.ReadFile(pair.Cert)
	if err != nil {
		return fmt.Errorf("read certificate of %s: %w", u.name, err)
	}
	key, err := os.ReadFile(pair.Key)
	if err != nil {
		return fmt.Errorf("read key of %s: %w", u.name, err)
	}
	path := c.dir.KubeconfigOf(u.file)
	if u.file == "admin" {
		path = c.dir.Kubeconfig()
	}
	return c.writeKubeconfig(path, bundle, u.name, &clientcmdapi.AuthInfo{
		ClientCertificateData: cert, ClientKeyData: key,
	})
}

// writeKubeconfig writes a self-contained kubeconfig for one user.
func (c *Cluster) writeKubeconfig(path, bundle, user string, auth *clientcmdapi.AuthInfo) error {
	ca, err := os.ReadFile(bundle)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[Name] = &clientcmdapi.Cluster{
		Server: c.Endpoint(), CertificateAuthorityData: ca,
	}
	config.AuthInfos[user] = auth
	config.Contexts[Name] = &clientcmdapi.Context{Cluster: Name, AuthInfo: user}
	config.CurrentContext = Name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig of %s: %w", user, err)
	}
	return nil
}
