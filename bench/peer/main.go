// Command peer plans the same input with upstream Karpenter's scheduler, through its exported packages, so that it can be
// compared with this project's engine. With -serve it makes the decisions of a backtest. It is a separate module. So
// upstream has the versions of dependencies with which it was released, and no other part of the project depends on it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	ignore := flag.Bool("ignore-preferences", false, "ignore preferred affinities and spread that may be violated")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	serving := flag.Bool("serve", false, "answer requests on standard input, a line of JSON each, with lines on standard output, for bench backtest")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "peer [flags] FOLDER...: plans catalog.json, pods.json and daemons.json"+
			" of each folder and writes upstream.json there, or upstream-ignore.json when preferences are ignored")
		flag.PrintDefaults()
	}
	flag.Parse()
	log.SetLogger(logr.Discard())
	err := error(nil)
	if *serving {
		err = serve(os.Stdin, os.Stdout)
	} else {
		err = run(flag.Args(), *ignore, *profile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(folders []string, ignore bool, profile string) error {
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return fmt.Errorf("make CPU profile: %w", err)
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	name := "upstream.json"
	if ignore {
		name = "upstream-ignore.json"
	}
	for _, dir := range folders {
		in, err := read(dir)
		if err != nil {
			return err
		}
		out, err := in.solve(ignore)
		if err != nil {
			return fmt.Errorf("plan %s: %w", dir, err)
		}
		data, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("encode plan of %s: %w", dir, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
	}
	return nil
}
