package main

import (
	"flag"
	"fmt"

	"github.com/karpenter-go/karpenter/bench/workload"
)

func input(args []string) error {
	f := flag.NewFlagSet("bench input", flag.ContinueOnError)
	var s source
	s.flags(f)
	out := f.String("out", "", "folder for the files")
	nodes := f.Int("nodes", 0, "write a fleet of that many nodes with pods on them to cluster.json, too")
	fl := workload.Fleet{}
	fleetFlags(f, &fl)
	if err := f.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return fmt.Errorf("say with -out where the files go")
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	if *nodes > 0 {
		fl.Nodes, fl.Seed = *nodes, s.seed
		there, err := fl.Cluster(c.Catalogue)
		if err != nil {
			return err
		}
		there.Daemons, there.Pods = c.Daemons, append(there.Pods, c.Pods...)
		c = there
	}
	return c.Write(*out)
}

func fleetFlags(f *flag.FlagSet, fl *workload.Fleet) {
	f.IntVar(&fl.Pools, "pools", 1, "pools that the fleet's nodes are dealt to")
	f.Float64Var(&fl.Keep, "keep", 0.25, "share of the pods that stay on the fleet's nodes, which once were full")
	f.BoolVar(&fl.Budgets, "budgets", false, "give each of the fleet's deployments a PodDisruptionBudget of 10%")
}
