package cluster

import (
	"context"
	"time"

	"github.com/karpenter-go/karpenter/local/pki"
	"github.com/karpenter-go/karpenter/local/state"
)

// Status is the state of a cluster.
type Status struct {
	Dir string `json:"dir"`
	// Ready is true if all of these are healthy: the control plane, the part clusterapi if the cluster has machines, and the
	// controller and the provider in another process if they were ever started.
	Ready  bool         `json:"ready"`
	Server string       `json:"server,omitempty"` // URL of the API server
	Parts  []PartStatus `json:"parts"`
}

// PartStatus is the state of one part.
type PartStatus struct {
	Name    string `json:"name"`
	PID     int    `json:"pid,omitempty"`
	Running bool   `json:"running"`
	Healthy bool   `json:"healthy"`
	Problem string `json:"problem,omitempty"`
	Address string `json:"address,omitempty"` // host:port
	Log     string `json:"log"`
}

// Status checks the health of every part. A directory without a cluster has no parts and is not ready.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	status := Status{Dir: string(c.dir), Parts: []PartStatus{}}
	if !c.dir.Exists() {
		return status, nil
	}
	record, err := c.dir.Load() // others may have started parts since Open
	if err != nil {
		return status, err
	}
	authority, err := pki.Open(c.dir.PKI(), c.clock.Now())
	if err != nil {
		return status, err
	}
	if err := c.trust(authority.Bundle()); err != nil {
		return status, err
	}
	status.Server = c.Endpoint()
	status.Ready = true
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, stage := range c.known(record, keys{authority: authority}) {
		for _, p := range stage {
			part := c.inspect(ctx, record, p)
			status.Ready = status.Ready && part.Healthy
			status.Parts = append(status.Parts, part)
		}
	}
	return status, nil
}

// inspect checks the health of one part.
func (c *Cluster) inspect(ctx context.Context, record *state.State, p spec) PartStatus {
	id := record.Parts[p.name]
	part := PartStatus{
		Name: p.name, PID: id.PID, Log: c.dir.Log(p.name), Running: id.Alive(),
		Address: record.Address(p.purposes[0]),
	}
	if !part.Running {
		part.Problem = "not running"
		return part
	}
	if err := c.healthy(ctx, p); err != nil {
		part.Problem = err.Error()
		return part
	}
	part.Healthy = true
	return part
}
