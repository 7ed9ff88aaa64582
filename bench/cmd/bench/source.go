package main

import (
	"flag"

	"github.com/karpenter-go/karpenter/bench/workload"
)

// A source describes the input of a measurement: generated objects, or files.
type source struct {
	profile, types string
	count          int
	seed           uint64
	noDaemons      bool
	files          workload.Files
}

func (s *source) flags(f *flag.FlagSet) {
	f.StringVar(&s.profile, "profile", "micro", "shape of the pods: micro, skewed, large, diverse, prefs or services")
	f.IntVar(&s.count, "count", 1000, "number of pods")
	f.Uint64Var(&s.seed, "seed", 7, "seed of chance; the same seed gives the same pods")
	f.StringVar(&s.types, "types", "cmr6", "instance types: cmr6, noburst, all or synthetic400")
	f.BoolVar(&s.noDaemons, "no-daemons", false, "leave the four daemons out")
	f.StringVar(&s.files.Pods, "pods", "", "read the pods from this file, a JSON array, instead of making them")
	f.StringVar(&s.files.Catalogue, "catalog", "", "with -pods: read the instance types from this file")
	f.StringVar(&s.files.Daemons, "daemons", "", "with -pods: read the daemons from this file, a List")
}

func (s *source) cluster() (*workload.Cluster, error) {
	var c *workload.Cluster
	var err error
	if s.files.Pods != "" {
		c, err = s.read()
	} else {
		c, err = s.make()
	}
	if err == nil && s.noDaemons {
		c.Daemons = nil
	}
	return c, err
}

func (s *source) make() (*workload.Cluster, error) {
	p, err := workload.ParseProfile(s.profile)
	if err != nil {
		return nil, err
	}
	return workload.New(p, s.count, s.seed, s.types)
}

// read reads the files, and generates the objects for which there is no file.
func (s *source) read() (*workload.Cluster, error) {
	c, err := workload.Read(s.files)
	if err != nil {
		return nil, err
	}
	if s.files.Daemons == "" {
		c.Daemons = workload.Daemons()
	}
	if s.files.Catalogue == "" {
		c.Catalogue, err = workload.Catalogue(s.types)
	}
	return c, err
}
