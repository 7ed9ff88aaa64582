package workload

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Files names the files of a cluster without nodes. karpenter simulate reads Catalogue with --catalog, and the others
// with -f.
type Files struct {
	// Catalogue is a JSON array of catalogue.Type.
	Catalogue string
	// Pods is a JSON array of pending pods.
	Pods string
	// Daemons is a List of DaemonSets. Empty for none.
	Daemons string
}

// FilesIn returns the files of a folder under their usual names.
func FilesIn(dir string) Files {
	return Files{
		Catalogue: filepath.Join(dir, "catalog.json"), Pods: filepath.Join(dir, "pods.json"), Daemons: filepath.Join(dir, "daemons.json"),
	}
}

// A list is a Kubernetes List.
type list[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []T    `json:"items"`
}

func newList[T any](items []T) list[T] { return list[T]{APIVersion: "v1", Kind: "List", Items: items} }

// Write writes the catalogue, pods and daemons of the cluster. If the cluster has nodes, it also writes nodes, pools
// and budgets to cluster.json in the same directory.
func (c *Cluster) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for the input: %w", err)
	}
	f := FilesIn(dir)
	values := map[string]any{f.Catalogue: c.Catalogue, f.Pods: c.Pods, f.Daemons: newList(c.Daemons)}
	if len(c.Nodes) > 0 {
		var items []any
		for _, p := range c.Pools {
			items = append(items, p)
		}
		for _, b := range c.Budgets {
			items = append(items, b)
		}
		for _, n := range c.Nodes {
			items = append(items, n)
		}
		values[filepath.Join(dir, "cluster.json")] = newList(items)
	}
	for name, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return fmt.Errorf("write input: %w", err)
		}
	}
	return nil
}

// Read returns the cluster of the files with one pool. Pods without a node are taken to be pending.
func Read(f Files) (*Cluster, error) {
	c := &Cluster{Pools: []*apiv1.NodePool{Pool("default")}}
	if err := readJSON(f.Catalogue, &c.Catalogue); err != nil {
		return nil, err
	}
	if err := readJSON(f.Pods, &c.Pods); err != nil {
		return nil, err
	}
	for _, p := range c.Pods {
		if p.Spec.NodeName == "" {
			Pending(p)
		}
	}
	if f.Daemons == "" {
		return c, nil
	}
	var daemons list[*appsv1.DaemonSet]
	err := readJSON(f.Daemons, &daemons)
	c.Daemons = daemons.Items
	return c, err
}

func readJSON(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

// Names returns the keys of the pending pods.
func (c *Cluster) Names() []string {
	var names []string
	for _, p := range c.Pods {
		if p.Spec.NodeName == "" {
			names = append(names, Key(p))
		}
	}
	return names
}

// Key returns namespace/name.
func Key(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
