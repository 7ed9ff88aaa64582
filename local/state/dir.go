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

// Kubeconfig returns the path of the administrator's kubeconfig.
func (d Dir) Kubeconfig() string { return d.join("kubeconfig") }

// KubeconfigOf returns the path of the kubeconfig of a part other than the controller.
func (d Dir) KubeconfigOf(part string) string { return d.join("conf", part+".kubeconfig") }

// ControllerKubeconfig returns the path of the controller's kubeconfig, for a ServiceAccount that has only the rights
// in the Helm chart.
func (d Dir) ControllerKubeconfig() string { return d.join("karpenter.kubeconfig") }

// SchedulerConfig returns the path of kube-scheduler's configuration file.
func (d Dir) SchedulerConfig() string { return d.join("conf", "scheduler.yaml") }

// AWSEnv returns the path of a file with environment variables, one NAME=value per line, by which AWS clients use the
// emulator.
func (d Dir) AWSEnv() string { return d.join("aws.env") }

// Log returns the path of the log of a part.
func (d Dir) Log(part string) string { return d.join("logs", part+".log") }

// PKI returns the directory with keys and certificates.
func (d Dir) PKI() string { return d.join("pki") }

// Data returns the directory for the data of a part.
func (d Dir) Data(part string) string { return d.join("data", part) }

// record returns the path of the file with the State.
func (d Dir) record() string { return d.join("state.json") }

func (d Dir) join(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Create makes the directory with its folders. Only its owner can read it, because it contains keys.
func (d Dir) Create() error {
	for _, folder := range []string{"conf", "logs", "pki", "data"} {
		if err := os.MkdirAll(d.join(folder), 0o700); err != nil {
			return fmt.Errorf("create state directory: %w", err)
		}
	}
	return nil
}

// Remove deletes the directory. It returns an error if the directory has other files than those of a cluster, so that
// a mistyped path deletes nothing.
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

// own lists the entries that a cluster creates in its directory.
var own = map[string]bool{
	"aws.env": true, "conf": true, "data": true, "karpenter.kubeconfig": true, "kubeconfig": true,
	"lock": true, "logs": true, "pki": true, "state.json": true, "state.json.new": true,
}
