// Command pack writes Helm charts to archives, as helm package does:
//
//	go run ./chart/pack -version 1.2.3 -out ../dist/charts ../charts/karpenter ../charts/karpenter-crd
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/karpenter-go/karpenter/local/chart"
)

func main() {
	version := flag.String("version", "0.1.0", "version of chart and program")
	out := flag.String("out", ".", "directory of the archives")
	flag.Parse()
	if err := run(*version, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(version, out string, dirs []string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, dir := range dirs {
		file, err := chart.Pack(dir, version, out)
		if err != nil {
			return err
		}
		fmt.Println(file)
	}
	return nil
}
