package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/karpenter-go/karpenter/bench/e2e"
	"github.com/karpenter-go/karpenter/bench/workload"
)

// endToEnd measures scale-up and scale-in, once for each number of pods and each controller. Each measurement has its
// own cluster.
func endToEnd(args []string) error {
	f := flag.NewFlagSet("bench e2e", flag.ContinueOnError)
	o := e2e.Options{Log: os.Stderr}
	f.StringVar(&o.Bin, "bin", "bin", "where karpenter and karpenter-local are")
	sizes := f.String("pods", "1000", "how many pods come, several numbers separated by commas; empty for no scale-up")
	mass := f.String("mass", "", "measure a mass drift and a mass deletion of that many nodes too, several numbers separated by commas")
	profile := f.String("profile", string(workload.Micro), "shape of the pods; those that ask for nothing but resources")
	f.Uint64Var(&o.Seed, "seed", 7, "seed of chance")
	f.IntVar(&o.MaxCPU, "max-cpu", 0, "the most cores of a node, 0 for any number")
	f.DurationVar(&o.ConsolidateAfter, "consolidate-after", 30*time.Second, "the pool's consolidateAfter")
	f.DurationVar(&o.UpLimit, "up-limit", 5*time.Minute, "most time for a scale-up")
	f.DurationVar(&o.DownLimit, "down-limit", 8*time.Minute, "most time for a scale-in")
	f.DurationVar(&o.Boot, "boot", 0, "how long machines boot; without a controller, how long after the last pod the nodes are there")
	f.BoolVar(&o.UpOnly, "up-only", false, "end each run when all pods run")
	f.BoolVar(&o.Again, "again", false, "instead of a scale-in, make the pods once more with the nodes there: what Kubernetes takes by itself")
	f.BoolVar(&o.DeletionOnly, "deletion-only", false, "with -mass, leave out the mass drift")
	none := f.Bool("none", false, "measure a scale-up without a controller too: nodes are there as soon as the last pod is")
	peer := f.String("peer", "", "measure upstream's controller too, this program (bin/bench-peer-kwok)")
	into := f.String("into", "", "file whose marked lines are replaced by the tables, such as docs/bench.md")
	logs := f.String("logs", "", "directory to keep the logs of each cluster in")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	if o.Profile, err = workload.ParseProfile(*profile); err != nil {
		return err
	}
	if o.Bin, err = filepath.Abs(o.Bin); err != nil {
		return err
	}
	who, err := contenders(o.Bin, *peer, *none)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	text, err := compete(ctx, o, *sizes, *logs, who)
	if err != nil {
		return err
	}
	table, err := competeMass(ctx, o, *mass, *logs, who)
	if err != nil {
		return err
	}
	text += table
	fmt.Print(text)
	if *into != "" {
		return e2e.Write(*into, text)
	}
	return nil
}

// compete measures every contender with every number of pods, and returns the tables.
func compete(ctx context.Context, o e2e.Options, sizes, logs string, who []contender) (string, error) {
	text := machine() + "\n"
	if sizes == "" {
		return text, nil
	}
	var up, down strings.Builder
	for size := range strings.SplitSeq(sizes, ",") {
		var err error
		if o.Pods, err = strconv.Atoi(size); err != nil {
			return "", fmt.Errorf("-pods: %w", err)
		}
		for i, c := range who {
			if logs != "" {
				o.Logs = filepath.Join(logs, fmt.Sprintf("%s-%d", size, i))
			}
			o.Name, o.Controller = c.name, c.program
			result, err := inDirectory(ctx, o, o.UpLimit+o.DownLimit, e2e.Run)
			if err != nil {
				return "", err
			}
			rowUp, rowDown := result.Rows()
			up.WriteString(rowUp)
			down.WriteString(rowDown)
		}
	}
	text += "At the end: " + load() + ".\n\n" + e2e.Up + up.String()
	if !o.Again && !o.UpOnly {
		text += "\n" + e2e.Down + down.String()
	}
	return text, nil
}

// competeMass measures a mass drift and a mass deletion with every contender that has a controller, and returns the table.
func competeMass(ctx context.Context, o e2e.Options, sizes, logs string, who []contender) (string, error) {
	if sizes == "" {
		return "", nil
	}
	text := "\n" + e2e.Mass
	for size := range strings.SplitSeq(sizes, ",") {
		nodes, err := strconv.Atoi(size)
		if err != nil {
			return "", fmt.Errorf("-mass: %w", err)
		}
		for i, c := range who {
			if c.program == "" {
				continue
			}
			if logs != "" {
				o.Logs = filepath.Join(logs, fmt.Sprintf("mass-%d-%d", nodes, i))
			}
			o.Name, o.Controller = c.name, c.program
			result, err := inDirectory(ctx, o, 2*o.DownLimit+o.UpLimit, func(ctx context.Context, o e2e.Options) (e2e.MassResult, error) {
				return e2e.RunMass(ctx, o, nodes)
			})
			if err != nil {
				return "", err
			}
			text += result.Row()
		}
	}
	return text, nil
}

// A contender is a measured controller; if program is empty, the measurement is without a controller.
type contender struct{ name, program string }

// contenders returns this project's controller and the controllers to compare it with.
func contenders(bin, peer string, none bool) ([]contender, error) {
	who := []contender{{"this one", filepath.Join(bin, "karpenter")}}
	if peer != "" {
		program, err := filepath.Abs(peer)
		if err != nil {
			return nil, err
		}
		who = append(who, contender{"upstream v1.15.0", program})
	}
	if none {
		who = append(who, contender{"none, nodes come with the last pod", ""})
	}
	return who, nil
}

// inDirectory measures one cluster in a temporary directory. most bounds the time of the measurement, without starting
// and stopping the cluster.
func inDirectory[R any](ctx context.Context, o e2e.Options, most time.Duration, run func(context.Context, e2e.Options) (R, error)) (r R, err error) {
	root, err := os.MkdirTemp("", "karpenter-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(root)
	o.Dir = filepath.Join(root, "cluster")
	const around = 3 * time.Minute // time to start the cluster, apply manifests and stop the cluster
	ctx, cancel := context.WithTimeout(ctx, most+around)
	defer cancel()
	return run(ctx, o)
}
