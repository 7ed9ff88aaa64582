package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// cataloguing has the flags that select the instance types.
type cataloguing struct {
	file   string
	region string
	// book is the file of a price book. If it is empty, the price book of the cluster is used, if any.
	book string
	// named reports whether the region was given as a flag. Otherwise it is derived from the input.
	named func() bool
}

func (g *cataloguing) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&g.file, "catalog", "", "JSON file of instance types, in the format of karpenter catalog -o json (default: the built-in catalog)")
	f.StringVar(&g.region, "region", offline.DefaultRegion, "Region of the built-in catalog (default: that of the nodes, or us-east-1)")
	f.Lookup("region").DefValue = "" // the help text has the default
	f.StringVar(&g.book, "price-book", "", "File of a price book, or of its ConfigMap: list prices, discounts, commitments and fees")
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

// open returns the catalogue. found is the region in the input, "" if there is none.
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

// A liveState is the state of a cluster that was read, with all that a plan needs.
type liveState struct {
	there     client.Reader
	found     *live.Cluster
	catalogue *offline.Catalogue
	snapshot  *model.Snapshot
	options   pack.Options
}

// decide makes a plan for the cluster.
func (l *liveState) decide() *offline.Run { return offline.Decide(l.snapshot, l.options, time.Now) }

// decideLive reads the cluster and makes a plan for it, without changing anything. It also returns a client for
// reading more objects.
func (g *cataloguing) decideLive(cmd *cobra.Command, p *progress, s *solver) (*offline.Run, client.Reader, error) {
	l, err := g.readLive(cmd, p, s)
	if err != nil {
		return nil, nil, err
	}
	p.say("planning for " + units.Counted(len(l.snapshot.Pending()), "pod"))
	return l.decide(), l.there, nil
}

// readLive reads the cluster, without changing anything. It also finds out what is known of the controller.
func (g *cataloguing) readLive(cmd *cobra.Command, p *progress, s *solver) (*liveState, error) {
	p.say("reading the cluster")
	there, found, err := readCluster(cmd)
	if err != nil {
		return nil, coded{exitUnreachable, err}
	}
	catalogue, err := g.open(offline.RegionOf(found.Nodes, found.Classes))
	if err != nil {
		return nil, err
	}
	if err := g.payAsThere(cmd, there, catalogue, found.Nodes); err != nil {
		return nil, err
	}
	told := s.meetLive(cmd.Context(), there)
	s.dropIgnored(found)
	supply, err := catalogue.Supply(found.Pools, found.Classes, found.Overlays)
	if err != nil {
		return nil, err
	}
	o := s.options()
	if spread := s.spread(); len(spread) > 0 {
		if o.DefaultSpread, err = live.Spread(cmd.Context(), there, spread); err != nil {
			return nil, coded{exitUnreachable, fmt.Errorf("read what the default spread constraints depend on: %w", err)}
		}
	}
	p.pause()
	warn(cmd.ErrOrStderr(), slices.Concat(told, supply.Warnings))
	supply.Types = s.controller.withUnavailable(supply.Types)
	snapshot := s.furnish(cmd, there, found.Snapshot.Apply(model.Delta{Types: supply.Types}))
	o.Labels = catalogue.Labels()
	return &liveState{there, found, catalogue, snapshot, o}, nil
}

// dropIgnored removes what the controller ignores: the NodeOverlays if their feature gate is known to be off, and the
// DaemonSets whose pods have ResourceClaims unless the controller counts them.
func (s *solver) dropIgnored(found *live.Cluster) {
	if s.controller.known() && !s.controller.gates().NodeOverlay {
		found.Overlays = nil
	}
	if s.dynamicResources() {
		return
	}
	var ignored model.Delta
	for _, d := range found.Snapshot.Daemons() {
		if len(d.Object.Spec.Template.Spec.ResourceClaims) > 0 {
			ignored.Gone = append(ignored.Gone, model.Ref{Kind: model.KindDaemon, Key: d.Key})
		}
	}
	found.Snapshot = found.Snapshot.Apply(ignored)
}

// furnish returns the snapshot with the requests that DaemonSet pods have after admission and, if the feature gate is
// on, the virtual pods of CapacityBuffers. The controller adds both, too. furnish warns about buffers that cannot be
// read, but not about LimitRanges that cannot be read.
func (s *solver) furnish(cmd *cobra.Command, there client.Reader, of *model.Snapshot) *model.Snapshot {
	ctx := ctrl.LoggerInto(cmd.Context(), funcr.New(func(_, text string) { warn(cmd.ErrOrStderr(), []string{text}) }, funcr.Options{}))
	var ranges corev1.LimitRangeList
	_ = there.List(ctx, &ranges) // without LimitRanges, the templates and pods of DaemonSets count
	list := make([]*corev1.LimitRange, len(ranges.Items))
	for i := range ranges.Items {
		list[i] = &ranges.Items[i]
	}
	of = of.Informed(list)
	if !s.controller.gates().CapacityBuffer {
		return of
	}
	return (&capacitybuffer.Buffers{Reader: there, Quotas: true}).Stock(ctx, of)
}

// clusterConfig returns the client configuration of the cluster. hint is appended to the error's advice to set
// KUBECONFIG.
func clusterConfig(hint string) (*rest.Config, error) {
	kube, err := config.GetConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, coded{exitUnreachable, errors.New("no cluster configuration found: " + missingFiles() + "set KUBECONFIG" + hint)}
	}
	if err != nil {
		return nil, coded{exitUnreachable, fmt.Errorf("read the cluster configuration: %w (set KUBECONFIG%s)", err, hint)}
	}
	return kube, nil
}

// missingFiles says which files of KUBECONFIG do not exist. It is empty if none is missing.
func missingFiles() string {
	var missing []string
	for _, file := range filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, file)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "KUBECONFIG names " + strings.Join(missing, ", ") + ", which does not exist: "
}

// watchingClient returns a client of the cluster that can watch, with at most qps requests per second.
func watchingClient(qps float32) (client.WithWatch, error) {
	kube, err := clusterConfig("")
	if err != nil {
		return nil, err
	}
	kube.QPS, kube.Burst = qps, int(qps)
	scheme, err := live.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(kube, client.Options{Scheme: scheme})
	if err != nil {
		return nil, coded{exitUnreachable, fmt.Errorf("connect to %s: %w", kube.Host, err)}
	}
	return c, nil
}

// readCluster reads the objects of the cluster in KUBECONFIG. It also returns a client for reading more objects.
func readCluster(cmd *cobra.Command) (client.Reader, *live.Cluster, error) {
	hint := ""
	if cmd.Flags().Lookup("filename") != nil && cmd.Flags().Lookup("with-price") == nil { // -f of plan is a change
		hint = ", or use -f to work on manifests"
	}
	kube, err := clusterConfig(hint)
	if err != nil {
		return nil, nil, err
	}
	kube.QPS, kube.Burst = 100, 100
	scheme, err := live.Scheme()
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(kube, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", kube.Host, err)
	}
	found, err := live.Read(cmd.Context(), c, clock.RealClock{})
	if err != nil {
		return nil, nil, fmt.Errorf("read the cluster at %s: %w", kube.Host, err)
	}
	return c, found, nil
}

// tellFaults prints a warning for each part of the plan that failed verification, and for each panic.
func tellFaults(cmd *cobra.Command, run *offline.Run) {
	for _, f := range run.Faults {
		warn(cmd.ErrOrStderr(), []string{"internal error: " + f + "; please report it"})
	}
}
