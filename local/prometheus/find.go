// Package prometheus finds the programs prometheus and promtool for tests. If they are not in the PATH, it unpacks the
// package prometheus of the distribution into the user's cache. It does not install the package.
package prometheus

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Find returns the path of prometheus or promtool. The error is the reason why there is none.
func Find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache for %s: %w", program, err)
	}
	dir := filepath.Join(cache, "karpenter-tests", "prometheus")
	path := filepath.Join(dir, "usr", "bin", program)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := unpack(dir); err != nil {
		return "", fmt.Errorf("%s is not in the PATH, and Debian's package prometheus cannot be had: %w", program, err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the package prometheus has no %s: %w", program, err)
	}
	return path, nil
}

// unpack downloads the package and unpacks it into dir. dir is created by a rename, so several tests may call unpack
// at the same time.
func unpack(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "unpack-")
	if err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	defer os.RemoveAll(work)
	download := exec.Command("apt-get", "download", "prometheus")
	download.Dir = work
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download prometheus: %w: %s", err, out)
	}
	packages, err := filepath.Glob(filepath.Join(work, "prometheus_*.deb"))
	if err != nil || len(packages) == 0 {
		return errors.New("apt-get downloaded no package")
	}
	content := filepath.Join(work, "content")
	if out, err := exec.Command("dpkg-deb", "-x", packages[0], content).CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb -x: %w: %s", err, out)
	}
	if err := os.Rename(content, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			return fmt.Errorf("move package: %w", err)
		}
	}
	return nil
}
