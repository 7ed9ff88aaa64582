package awsemu

import (
	"net/http"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// eksActions returns EKS's operations.
func (e *Emulator) eksActions() map[string]handler {
	return map[string]handler{
		"DescribeCluster": e.describeCluster, "DescribeAccessEntry": e.describeAccessEntry, "ListAccessEntries": e.listAccessEntries,
	}
}

type clusterJSON struct {
	Name            string            `json:"name"`
	ARN             string            `json:"arn"`
	Version         string            `json:"version"`
	PlatformVersion string            `json:"platformVersion"`
	Endpoint        string            `json:"endpoint"`
	Status          string            `json:"status"`
	CA              caJSON            `json:"certificateAuthority"`
	Network         networkConfigJSON `json:"kubernetesNetworkConfig"`
	VPC             vpcConfigJSON     `json:"resourcesVpcConfig"`
	Access          accessConfigJSON  `json:"accessConfig"`
}

type accessConfigJSON struct {
	Mode string `json:"authenticationMode"`
}

type caJSON struct {
	Data string `json:"data"`
}

type networkConfigJSON struct {
	ServiceIPv4 string `json:"serviceIpv4Cidr,omitempty"`
	ServiceIPv6 string `json:"serviceIpv6Cidr,omitempty"`
	Family      string `json:"ipFamily"`
}

type vpcConfigJSON struct {
	Subnets []string `json:"subnetIds"`
	Group   string   `json:"clusterSecurityGroupId"`
	VPC     string   `json:"vpcId"`
}

// describeCluster describes the account's only cluster.
func (e *Emulator) describeCluster(r *request) (any, *wire.Error) {
	c := e.cfg.Cluster
	if r.path != c.Name {
		err := wire.Errorf("ResourceNotFoundException", "No cluster found for name: %s.", r.path)
		err.Status = 404
		return nil, err
	}
	out := clusterJSON{
		Name: c.Name, ARN: e.clusterARN(),
		Version: c.Version, PlatformVersion: "eks.1", Endpoint: c.Endpoint, Status: "ACTIVE", CA: caJSON{c.CA},
		Network: networkConfigJSON{ServiceIPv4: c.ServiceCIDR, Family: "ipv4"}, Access: accessConfigJSON{c.AccessMode},
	}
	if c.IPv6 {
		out.Network = networkConfigJSON{ServiceIPv6: c.ServiceCIDR, Family: "ipv6"}
	}
	for _, s := range e.world.Subnets() {
		if !s.Public {
			out.VPC.Subnets, out.VPC.VPC = append(out.VPC.Subnets, s.ID), s.VPC
		}
	}
	for _, g := range e.world.SecurityGroups() {
		if g.Name == "eks-cluster-sg-"+c.Name {
			out.VPC.Group = g.ID
		}
	}
	return map[string]clusterJSON{"cluster": out}, nil
}

type accessEntryJSON struct {
	Cluster   string            `json:"clusterName"`
	Principal string            `json:"principalArn"`
	ARN       string            `json:"accessEntryArn"`
	Groups    []string          `json:"kubernetesGroups"`
	Username  string            `json:"username"`
	Type      string            `json:"type"`
	Tags      map[string]string `json:"tags"`
}

// The authentication modes of a cluster: access entries, the ConfigMap aws-auth, or both.
const (
	accessByEntry = "API"
	accessByMap   = "CONFIG_MAP"
	accessByBoth  = "API_AND_CONFIG_MAP"
)

// entriesOf returns the ARNs of the roles with an access entry. It returns an error if the cluster does not exist or uses no
// access entries.
func (e *Emulator) entriesOf(cluster string) ([]string, *wire.Error) {
	c := e.cfg.Cluster
	if cluster != c.Name {
		err := wire.Errorf("ResourceNotFoundException", "No cluster found for name: %s.", cluster)
		err.Status = http.StatusNotFound
		return nil, err
	}
	if c.AccessMode == accessByMap {
		return nil, wire.Errorf("InvalidRequestException",
			"The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.")
	}
	var out []string
	for _, name := range c.AccessRoles {
		if role, err := e.world.Role(name); err == nil {
			out = append(out, role.ARN)
		}
	}
	return out, nil
}

// describeAccessEntry returns the access entry of a principal. Every entry is for nodes.
func (e *Emulator) describeAccessEntry(r *request) (any, *wire.Error) {
	cluster, principal, _ := strings.Cut(r.path, "/access-entries/")
	principals, failure := e.entriesOf(cluster)
	if failure != nil {
		return nil, failure
	}
	if !slices.Contains(principals, principal) {
		err := wire.Errorf("ResourceNotFoundException",
			"The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.")
		err.Status = http.StatusNotFound
		return nil, err
	}
	return map[string]accessEntryJSON{"accessEntry": {
		Cluster: cluster, Principal: principal, ARN: strings.Replace(e.clusterARN(), ":cluster/", ":access-entry/", 1) + "/role/" + lastSegment(principal),
		Groups: []string{"system:nodes"}, Username: "system:node:{{EC2PrivateDNSName}}", Type: "EC2_LINUX", Tags: map[string]string{},
	}}, nil
}

// listAccessEntries lists the principals that have an entry.
func (e *Emulator) listAccessEntries(r *request) (any, *wire.Error) {
	cluster, _, _ := strings.Cut(r.path, "/access-entries")
	principals, failure := e.entriesOf(cluster)
	if failure != nil {
		return nil, failure
	}
	return map[string][]string{"accessEntries": append([]string{}, principals...)}, nil
}
