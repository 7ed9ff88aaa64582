package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the absolute path of a cluster's directory.
type Dir string

// At returns the directory at path, made absolute. It need not exist.
func At(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", path, err)
	}
	return Dir(abs), nil
}

// Kubeconfig is the administrator's way in.
func (d Dir) Kubeconfig() string { return d.join("kubeconfig") }

// KubeconfigOf is the way in of one part of the control plane.
func (d Dir) KubeconfigOf(part string) string { return d.join("conf", part+".kubeconfig") }

// ControllerKubeconfig is the way in of the controller: a service account that
// holds what the Helm chart grants and nothing else.
func (d Dir) ControllerKubeconfig() string { return d.join("karpenter.kubeconfig") }

// SchedulerConfig is the scheduler's configuration file.
func (d Dir) SchedulerConfig() string { return d.join("conf", "scheduler.yaml") }

// AWSEnv holds the environment that leads AWS clients to the emulator, one
// NAME=value a line.
func (d Dir) AWSEnv() string { return d.join("aws.env") }

// Log is where a part writes its output.
func (d Dir) Log(part string) string { return d.join("logs", part+".log") }

// PKI is where keys and certificates are.
func (d Dir) PKI() string { return d.join("pki") }

// Data is where a part keeps its own data.
func (d Dir) Data(part string) string { return d.join("data", part) }

// record is the State's own file.
func (d Dir) record() string { return d.join("state.json") }

func (d Dir) join(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Create makes the directory with its folders. It is private to its owner: it
// holds keys.
func (d Dir) Create() error {
	for _, folder := range []string{"conf", "logs", "pki", "data"} {
		if err := os.MkdirAll(d.join(folder), 0o700); err != nil {
			return fmt.Errorf("create state directory: %w", err)
		}
	}
	return nil
}

// Remove deletes the directory. It refuses a directory that holds anything but
// a cluster's state, so that a mistyped path deletes nothing.
func (d Dir) Remove() error {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read state directory: %w", err)
	}
	for _, entry := range entries {
		if !own[entry.Name()] {
			return fmt.Errorf("remove %s: it also holds %s, which is not a cluster's", d, entry.Name())
		}
	}
	if err := os.RemoveAll(string(d)); err != nil {
		return fmt.Errorf("remove state directory: %w", err)
	}
	return nil
}

// own lists what a cluster writes at the top of its directory.
var own = map[string]bool{
	"aws.env": true, "conf": true, "data": true, "karpenter.kubeconfig": true, "kubeconfig": true,
	"lock": true, "logs": true, "pki": true, "state.json": true, "state.json.new": true,
}
