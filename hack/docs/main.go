package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/karpenter-go/karpenter/hack/upstream"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	check := flag.Bool("check", false, "write nothing; fail if a file is stale")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// run writes or checks the files below root.
func run(root string, check bool) error {
	pages, err := generate(root)
	if err != nil {
		return err
	}
	var errs []error
	for name, text := range pages {
		path := filepath.Join(root, name)
		if !check {
			errs = append(errs, write(path, text))
			continue
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text) {
			errs = append(errs, fmt.Errorf("%s is stale: run make gen", name))
		}
	}
	return errors.Join(errs...)
}

// generate returns the text of each file by its path from root.
func generate(root string) (map[string][]byte, error) {
	ofProviders, err := providerMetrics(filepath.Join(root, "provider"))
	if err != nil {
		return nil, err
	}
	files, err := permissionFiles()
	if err != nil {
		return nil, err
	}
	files[filepath.Join("docs", "metrics.md")] = metricsPage(ofProviders)
	files[filepath.Join("docs", "events.md")] = eventsPage()
	files[filepath.Join("docs", "settings.md")] = settingsPage()
	files[filepath.Join("docs", "lint.md")] = lintPage()
	names, err := upstream.Names()
	if err != nil {
		return nil, err
	}
	files[filepath.Join("docs", "upstream-names.md")] = upstreamPage(names)
	return files, nil
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
