package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// cataloguing are the flags that select the instance types.
type cataloguing struct {
	file   string
	region string
	// book is the file of a price book; empty means none, or that of the cluster.
	book string
	// named says that the region was given, and is not to be guessed.
	named func() bool
}

func (g *cataloguing) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&g.file, "catalog", "", "JSON file of instance types, as karpenter catalog -o json prints it (default: the table in the binary)")
	f.StringVar(&g.region, "region", offline.DefaultRegion, "region of the table in the binary (default: that of the nodes, or us-east-1)")
	f.Lookup("region").DefValue = "" // the text has it
	f.StringVar(&g.book, "price-book", "", "file of a price book, or of the ConfigMap that holds it: what is really paid")
	g.named = func() bool { return f.Changed("region") }
}

func (g *cataloguing) check() error {
	if g.file == "" && g.named() {
		if err := offline.CheckRegion(g.region); err != nil {
			return coded{exitUsage, fmt.Errorf("--region: %w", err)}
		}
	}
	return nil
}

// open returns the catalogue. found is the region that the input speaks of, "" if it does not.
func (g *cataloguing) open(found string) (*offline.Catalogue, error) {
	if g.file != "" {
		data, err := os.ReadFile(g.file)
		if err != nil {
			return nil, fmt.Errorf("read catalog: %w", err)
		}
		return offline.ReadCatalogue(g.file, data)
	}
	if found != "" && !g.named() {
		return offline.Shipped(found), nil
	}
	return offline.Shipped(g.region), nil
}

// decideLive reads the cluster and plans for it, and returns also a way to read more. Spread are the scheduler's constraints
// for pods that say nothing about it. Nothing is changed.
func (g *cataloguing) decideLive(
	cmd *cobra.Command, p *progress, o pack.Options, spread []corev1.TopologySpreadConstraint,
) (*offline.Run, client.Reader, error) {
	p.say("reading the cluster")
	there, found, err := readCluster(cmd)
	if err != nil {
		return nil, nil, coded{exitUnreachable, err}
	}
	catalogue, err := g.open(offline.RegionOf(found.Nodes, found.Classes))
	if err != nil {
		return nil, nil, err
	}
	if err := g.payAsThere(cmd, there, catalogue, found.Nodes); err != nil {
		return nil, nil, err
	}
	supply, err := catalogue.Supply(found.Pools, found.Classes, found.Overlays)
	if err != nil {
		return nil, nil, err
	}
	if len(spread) > 0 {
		if o.DefaultSpread, err = live.Spread(cmd.Context(), there, spread); err != nil {
			return nil, nil, coded{exitUnreachable, fmt.Errorf("read what default spread is made from: %w", err)}
		}
	}
	p.pause()
	warn(cmd.ErrOrStderr(), supply.Warnings)
	s := found.Snapshot.Apply(model.Delta{Types: supply.Types})
	p.say("planning for " + report.Count(len(s.Pending()), "pod"))
	o.Labels = catalogue.Labels()
	return offline.Decide(s, o, time.Now), there, nil
}

// readCluster lists what is in the cluster of KUBECONFIG, and returns a way to read more.
func readCluster(cmd *cobra.Command) (client.Reader, *live.Cluster, error) {
	rest, err := config.GetConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("find the cluster: %w (set KUBECONFIG)", err)
	}
	rest.QPS, rest.Burst = 100, 100
	scheme, err := live.Scheme()
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", rest.Host, err)
	}
	found, err := live.Read(cmd.Context(), c, clock.RealClock{})
	if err != nil {
		return nil, nil, fmt.Errorf("read the cluster at %s: %w", rest.Host, err)
	}
	return c, found, nil
}

// tellFaults warns of what the check of a plan objected to, and of panics.
func tellFaults(cmd *cobra.Command, run *offline.Run) {
	for _, f := range run.Faults {
		warn(cmd.ErrOrStderr(), []string{"a mistake of this program: " + f})
	}
}
