package awsemu

import (
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// eksActions returns EKS's operations.
func (e *Emulator) eksActions() map[string]handler {
	return map[string]handler{"DescribeCluster": e.describeCluster}
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
}

type caJSON struct {
	Data string `json:"data"`
}

type networkConfigJSON struct {
	ServiceCIDR string `json:"serviceIpv4Cidr"`
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
		Network: networkConfigJSON{c.ServiceCIDR, "ipv4"},
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
