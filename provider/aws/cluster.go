package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/bootstrap"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// EKS is the part of EKS that describes clusters.
type EKS interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// Discovery returns the version of the API server; client-go's discovery client implements it.
type Discovery interface {
	ServerVersion() (*version.Info, error)
}

// The oldest and the newest minor version of Kubernetes 1 that this provider supports.
const (
	oldestMinor = 26
	newestMinor = 37
)

// A cluster returns the facts about the EKS cluster that nodes need to join. It caches them. Failures are not cached. The
// address of the DNS service is cached for dnsLife, because the service may be created or replaced later.
type cluster struct {
	settings  Settings
	eks       EKS
	discovery Discovery
	reader    client.Reader
	caData    []byte
	clock     clock.PassiveClock

	mu         sync.Mutex // guards the fields below; not held during calls
	described  *ekstypes.Cluster
	dns        string
	dnsRead    time.Time // when dns was read, zero if it was not
	kubernetes string
	warned     string
}

// Cluster implements launch.Clusters.
func (c *cluster) Cluster(ctx context.Context) (bootstrap.Cluster, error) {
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return bootstrap.Cluster{}, err
	}
	out := bootstrap.Cluster{
		Name: c.settings.ClusterName, Endpoint: endpoint, CABundle: c.ca(), DNS: c.kubeDNS(ctx),
	}
	if cidr, err := c.CIDR(ctx); err == nil { // image families that need the CIDR report that it is missing
		out.CIDR = cidr
	}
	return out, nil
}

func (c *cluster) describe(ctx context.Context) (*ekstypes.Cluster, error) {
	c.mu.Lock()
	known := c.described
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return c.ask(ctx)
}

// ask calls EKS to describe the cluster, even if a description is cached. It caches the new one.
func (c *cluster) ask(ctx context.Context) (*ekstypes.Cluster, error) {
	out, err := c.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: awssdk.String(c.settings.ClusterName)})
	switch {
	case err != nil:
		return nil, fmt.Errorf("describe cluster %s: %w", c.settings.ClusterName, err)
	case out.Cluster == nil:
		return nil, fmt.Errorf("describe cluster %s: EKS returned none", c.settings.ClusterName)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.described = out.Cluster
	return out.Cluster, nil
}

func (c *cluster) endpoint(ctx context.Context) (string, error) {
	if c.settings.ClusterEndpoint != "" {
		return c.settings.ClusterEndpoint, nil
	}
	d, err := c.describe(ctx)
	if err != nil {
		return "", err
	}
	if awssdk.ToString(d.Endpoint) == "" {
		return "", fmt.Errorf("describe cluster %s: it has no endpoint yet", c.settings.ClusterName)
	}
	return awssdk.ToString(d.Endpoint), nil
}

// ARN returns the ARN of the cluster.
func (c *cluster) ARN(ctx context.Context) (string, error) {
	d, err := c.describe(ctx)
	if err != nil {
		return "", err
	}
	return awssdk.ToString(d.Arn), nil
}

// CIDR returns the address range of services, IPv4 if there is one.
func (c *cluster) CIDR(ctx context.Context) (string, error) {
	d, err := c.describe(ctx)
	if err != nil {
		return "", err
	}
	if n := d.KubernetesNetworkConfig; n != nil {
		if v4 := awssdk.ToString(n.ServiceIpv4Cidr); v4 != "" {
			return v4, nil
		}
		if v6 := awssdk.ToString(n.ServiceIpv6Cidr); v6 != "" {
			return v6, nil
		}
	}
	return "", fmt.Errorf("describe cluster %s: it has no service CIDR", c.settings.ClusterName)
}

// ca returns the CA bundle of the API server for nodes, as base64 of PEM.
func (c *cluster) ca() string {
	if c.settings.ClusterCABundle != "" {
		return c.settings.ClusterCABundle
	}
	return base64.StdEncoding.EncodeToString(c.caData)
}

// dnsLife is how long the address of the DNS service is cached, or that the service does not exist.
const dnsLife = 5 * time.Minute

// kubeDNS returns the address of the cluster's DNS service. It is empty if the service does not exist. If the service cannot be
// read, kubeDNS returns the address that was read last.
func (c *cluster) kubeDNS(ctx context.Context) string {
	c.mu.Lock()
	dns, read := c.dns, c.dnsRead
	c.mu.Unlock()
	if !read.IsZero() && c.clock.Since(read) < dnsLife {
		return dns
	}
	var service corev1.Service
	err := c.reader.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &service)
	if client.IgnoreNotFound(err) != nil {
		return dns // the next launch tries again; without the address, the image's bootstrap computes its default
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dns, c.dnsRead = service.Spec.ClusterIP, c.clock.Now()
	return c.dns
}

// Kubernetes returns the version of the cluster as major.minor, such as 1.36.
func (c *cluster) Kubernetes(ctx context.Context) (string, error) {
	c.mu.Lock()
	known := c.kubernetes
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	return c.refreshVersion(ctx)
}

func (c *cluster) refreshVersion(ctx context.Context) (string, error) {
	text, err := c.readVersion(ctx)
	if err != nil {
		return "", err
	}
	minor, err := amis.Minor(text)
	if err != nil {
		return "", err
	}
	v := fmt.Sprintf("1.%d", minor)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kubernetes = v
	if (minor < oldestMinor || minor > newestMinor) && c.warned != v {
		log.FromContext(ctx).Error(errors.New("tested with other versions only"), "unsupported Kubernetes version",
			"version", v, "min", oldestMinor, "max", newestMinor)
		c.warned = v
	}
	return v, nil
}

func (c *cluster) readVersion(ctx context.Context) (string, error) {
	if c.settings.EKSControlPlane {
		d, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		return awssdk.ToString(d.Version), nil
	}
	info, err := c.discovery.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("read version of Kubernetes: %w", err)
	}
	return info.Major + "." + info.Minor, nil
}

const versionEvery = 5 * time.Minute

// task returns the periodic task that refreshes the version of Kubernetes.
func (c *cluster) task() periodic.Task {
	return periodic.Task{Label: "providers.version", Run: func(ctx context.Context) (time.Duration, error) {
		_, err := c.refreshVersion(ctx)
		return versionEvery, err
	}}
}
