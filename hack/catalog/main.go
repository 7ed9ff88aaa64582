package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The pinned versions of the sources.
const (
	instancesModule  = "github.com/cristim/ec2-instances-info"
	instancesVersion = "v0.0.0-20250528091325-32acf84f42eb"
	limitsModule     = "github.com/aws/amazon-vpc-resource-controller-k8s"
	limitsVersion    = "v1.8.2"
)

// outputs are the files written, relative to the root of the repository.
var outputs = []string{
	"internal/awsemu/catalog/catalog.json.gz",
	"provider/aws/shipped/catalog.json.gz",
}

func main() {
	root := flag.String("root", "..", "root of the repository")
	flag.Parse()
	err := os.Chdir(*root)
	if err == nil {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

// run reads both sources and writes the outputs.
func run() error {
	instancesDir, err := moduleDir(instancesModule, instancesVersion)
	if err != nil {
		return err
	}
	limitsDir, err := moduleDir(limitsModule, limitsVersion)
	if err != nil {
		return err
	}
	source, err := readInstances(filepath.Join(instancesDir, "data", "instances.json"))
	if err != nil {
		return err
	}
	limits, limitsDate, err := readLimits(filepath.Join(limitsDir, "pkg", "aws", "vpc", "limits.go"))
	if err != nil {
		return err
	}
	doc := build(source, limits)
	doc.AsOf = asOf{Prices: versionDate(instancesVersion), Instances: versionDate(instancesVersion), Limits: limitsDate}
	doc.Generated = max(doc.AsOf.Prices, doc.AsOf.Limits)
	doc.Sources = []provenance{
		{instancesModule, instancesVersion, "MIT", "instance facts, zones, prices"},
		{limitsModule, limitsVersion, "Apache-2.0", "network interface limits, hypervisor, bare metal"},
	}
	data, err := encode(doc)
	if err != nil {
		return err
	}
	for _, path := range outputs {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make directory of %s: %w", path, err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	fmt.Printf("%d types, %d regions, %d bytes; left out %d types without network limits\n",
		len(doc.Types), len(doc.Regions), len(data), len(source)-len(doc.Types))
	return nil
}

// encode returns the document as gzipped JSON. The gzip header carries no name
// and no time, so equal documents give equal bytes.
func encode(doc document) ([]byte, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode catalog: %w", err)
	}
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("open gzip writer: %w", err)
	}
	if _, err := zw.Write(raw); err != nil {
		return nil, fmt.Errorf("compress catalog: %w", err)
	}
	if err := zw.Close(); err != nil {
		return nil, fmt.Errorf("compress catalog: %w", err)
	}
	return out.Bytes(), nil
}

// moduleDir returns the directory of a module in the module cache, and downloads the module if necessary. The command
// runs outside the repository, so that the repository's go.mod has no effect.
func moduleDir(module, version string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, out)
	}
	var info struct{ Dir, Error string }
	if err := json.Unmarshal(out, &info); err != nil {
		return "", fmt.Errorf("decode answer of go mod download: %w", err)
	}
	if info.Dir == "" {
		return "", fmt.Errorf("download %s: %s", module, info.Error)
	}
	return info.Dir, nil
}

// versionDate returns the date in a pseudo-version (v0.0.0-YYYYMMDD...).
func versionDate(version string) string {
	const prefix = len("v0.0.0-")
	d := version[prefix:]
	return d[:4] + "-" + d[4:6] + "-" + d[6:8]
}
