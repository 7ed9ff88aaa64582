// Command pack writes Helm charts to archives as helm package does, or renders one as helm template does, without helm:
//
//	go run ./chart/pack -version 1.2.3 -out ../dist/charts ../charts/karpenter ../charts/karpenter-crd
//	go run ./chart/pack -render ../examples/helm/eks.yaml ../charts/karpenter
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/local/chart"
)

func main() {
	version := flag.String("version", "0.1.0", "version of chart and program")
	out := flag.String("out", ".", "directory of the archives")
	render := flag.String("render", "", "file of values; render the chart with them instead of packing it")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm logs the link between the charts, which is intended
	err := errors.New("no chart is given")
	switch {
	case flag.NArg() == 0:
	case *render != "":
		err = show(flag.Arg(0), *render)
	default:
		err = pack(*version, *out, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(version, out string, dirs []string) error {
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

// show prints a chart rendered with values, for a release karpenter in kube-system.
func show(dir, values string) error {
	text, err := os.ReadFile(values)
	if err != nil {
		return fmt.Errorf("read values: %w", err)
	}
	r := chart.Release{Name: "karpenter", Namespace: "kube-system", Kubernetes: "v1.36.3"}
	if err := yaml.Unmarshal(text, &r.Values); err != nil {
		return fmt.Errorf("read values: %s: %w", values, err)
	}
	c, err := loader.LoadDir(dir)
	if err != nil {
		return fmt.Errorf("load chart: %w", err)
	}
	files, err := chart.Render(c, r)
	if err != nil {
		return err
	}
	for name := range files {
		if len(name) > 4 && name[len(name)-4:] == ".txt" {
			delete(files, name)
		}
	}
	fmt.Print(chart.Join(files))
	return nil
}
