package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
)

// A rival is upstream's scheduler with a cache of plans.
type rival struct {
	// peer is the program. kept is the folder of cached plans, each named by a hash of its input; empty for no cache.
	peer, kept string
}

// plan returns upstream's plan for each cluster. Plans that are not in the cache are all made in one process.
func (r rival) plan(clusters []*workload.Cluster) ([]*result.Run, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, fmt.Errorf("make folder for the input: %w", err)
	}
	defer os.RemoveAll(dir)
	plans := make([]*result.Run, len(clusters))
	names := make([]string, len(clusters))
	var todo []string
	for i, c := range clusters {
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := c.Write(folder); err != nil {
			return nil, err
		}
		if names[i], err = fingerprint(workload.FilesIn(folder)); err != nil {
			return nil, err
		}
		if plans[i], err = r.recall(names[i]); err != nil {
			return nil, err
		}
		if plans[i] == nil {
			todo = append(todo, folder)
		}
	}
	if len(todo) == 0 {
		return plans, nil
	}
	cmd := exec.Command(r.peer, todo...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run upstream: %w", err)
	}
	for i := range plans {
		if plans[i] != nil {
			continue
		}
		if plans[i], err = result.Read(filepath.Join(dir, fmt.Sprint(i), "upstream.json")); err != nil {
			return nil, err
		}
		if err := r.keep(names[i], plans[i]); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// fingerprint returns a hash of the content of the files.
func fingerprint(f workload.Files) (string, error) {
	h := sha256.New()
	for _, name := range []string{f.Catalogue, f.Pods, f.Daemons} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read input: %w", err)
		}
		sum := sha256.Sum256(data)
		h.Write(sum[:])
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// recall returns the cached plan with the name, nil if there is none.
func (r rival) recall(name string) (*result.Run, error) {
	if r.kept == "" {
		return nil, nil
	}
	run, err := result.Read(filepath.Join(r.kept, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return run, err
}

func (r rival) keep(name string, run *result.Run) error {
	if r.kept == "" {
		return nil
	}
	if err := os.MkdirAll(r.kept, 0o755); err != nil {
		return fmt.Errorf("make folder for plans: %w", err)
	}
	return run.Write(filepath.Join(r.kept, name+".json"))
}
