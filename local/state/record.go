package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/karpenter-go/karpenter/local/process"
)

// State is the stored state of a cluster.
type State struct {
	// Ports has the loopback ports by purpose: the name of a part, or a longer name for a second port of a part
	// ("etcd-peer").
	Ports map[string]int `json:"ports"`
	// Parts has the last process that was started for each part.
	Parts map[string]process.ID `json:"parts"`
	// Settings are the settings of the first start. A later start sets only those that are empty.
	Settings Settings `json:"settings"`
}

// Settings are the options with which a cluster is started. They are stored, so that a restarted part gets the same
// options.
type Settings struct {
	// NodesBoot is the time that an emulated instance takes to boot, as a duration ("3s").
	NodesBoot string `json:"nodesBoot,omitempty"`
	// Provider has the names of the controller's providers, separated by commas.
	Provider string `json:"provider,omitempty"`
	// Remote is set only if Provider contains "remote". It names the provider that runs in another process: aws, clusterapi or
	// kwok, which a part of the cluster serves, or the address of a provider outside the cluster.
	Remote string `json:"remote,omitempty"`
	// NodeClasses are the node classes of a provider with an address, as RESOURCE.GROUP,RESOURCE.GROUP.
	NodeClasses string `json:"nodeClasses,omitempty"`
	// FeatureGates are the feature gates of the controller, as Name=true,Name=false.
	FeatureGates string `json:"featureGates,omitempty"`
	// Dashboard is "false" if the controller serves no dashboard, otherwise "true".
	Dashboard string `json:"dashboard,omitempty"`
}

// Exists reports whether d is the directory of a cluster.
func (d Dir) Exists() bool {
	_, err := os.Stat(d.record())
	return err == nil
}

// Load reads the state. A directory without a stored state has an empty one.
func (d Dir) Load() (*State, error) {
	s := &State{Ports: map[string]int{}, Parts: map[string]process.ID{}}
	data, err := os.ReadFile(d.record())
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("parse %s: %w", d.record(), err)
	}
	return s, nil
}

// Save writes the state atomically.
func (d Dir) Save(s *State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	next := d.record() + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(next, d.record()); err != nil {
		return fmt.Errorf("replace state: %w", err)
	}
	return nil
}
