package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// costing has the flags of cost.
type costing struct {
	input
	solver
	by, label, output string
	since             time.Duration
	// now is true if only current prices are shown, without the ledger that the controller has stored.
	now bool
}

func costCommand() *cobra.Command {
	var x costing
	c := &cobra.Command{
		Use:   "cost",
		Short: "Show what the nodes cost, for which workloads, and why capacity is idle",
		Long: "Show what the nodes of NodePools cost: the share of each namespace, workload or NodePool, idle capacity by what causes\n" +
			"it, and overhead. The parts add up to the price of the nodes.\n\n" +
			"The cluster is the one that KUBECONFIG selects; it is only read. Its controller stores what nodes cost over time, with\n" +
			"the prices that it pays; without that, or with --now, only prices per hour are shown, by the built-in catalog. With -f\n" +
			"the cluster consists of the manifests, as for simulate.",
		Example: "  karpenter cost                                 # by namespace, since the controller began\n" +
			"  karpenter cost --by namespace,owner --since 24h\n" +
			"  karpenter cost --by pool,capacity-type -o wide  # with idle capacity and overhead of each\n" +
			"  karpenter cost --by owner -o csv > cost.csv\n" +
			"  karpenter cost --by commitment --since 720h -o csv\n" +
			"  karpenter cost -f cluster.json --by label --label team\n" +
			"  karpenter cost -o json | jq '.idle[] | select(.cause == \"pdb\")'",
		Args: noArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return x.run(cmd) }),
	}
	x.input.addFlags(c)
	x.solver.addFlags(c)
	f := c.Flags()
	f.StringVar(&x.by, "by", string(cost.ByNamespace), "Keys, separated by commas: pool, capacity-type, zone, namespace, owner, label; or commitment alone: how nodes use the commitments")
	f.DurationVar(&x.since, "since", 0, "Period of the dollars, such as 24h for the last day (default: since the controller began, at most a month)")
	f.StringVar(&x.label, "label", "", "Pod label for --by label; in a cluster with history it is that of the controller (--cost-allocation-label)")
	f.StringVarP(&x.output, "output", "o", "text", "Output format: text, wide, json or csv")
	f.BoolVar(&x.now, "now", false, "Compute the prices per hour from the cluster as it is, without what the controller has stored")
	return c
}

// check returns the fields of --by, or an error if flags are invalid.
func (x *costing) check() ([]cost.Field, error) {
	switch x.output {
	case "text", "wide", "json", "csv":
	default:
		return nil, coded{exitUsage, fmt.Errorf("--output: unknown format %q, use text, wide, json or csv", x.output)}
	}
	by := x.by
	if x.onlyCommitments() {
		by = string(cost.ByNamespace)
	}
	fields, err := cost.ParseFields(by)
	switch {
	case err != nil:
		return nil, coded{exitUsage, fmt.Errorf("--by: %w", err)}
	case x.since < 0:
		return nil, coded{exitUsage, fmt.Errorf("--since: %s is negative", x.since)}
	case x.since > 0 && (len(x.files) > 0 || x.now):
		return nil, coded{exitUsage, errors.New("--since: manifests and --now have no history, only prices per hour")}
	}
	for _, check := range []func() error{x.cataloguing.check, x.solver.check} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (x *costing) run(cmd *cobra.Command) error {
	fields, err := x.check()
	if err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	r, err := x.report(cmd, p, fields)
	if err != nil {
		return err
	}
	p.pause()
	return x.print(cmd.OutOrStdout(), r)
}

// report adds up the costs by the given keys. Warnings are written to stderr.
func (x *costing) report(cmd *cobra.Command, p *progress, fields []cost.Field) (r ledger.Report, err error) {
	var saved ledger.Saved
	if len(x.files) > 0 {
		saved, err = x.ofManifests(cmd, p)
	} else {
		saved, err = x.ofCluster(cmd, p)
	}
	if err != nil {
		return r, err
	}
	q := ledger.Query{By: fields, Now: time.Now()}
	if saved.Begin.Equal(saved.Until) {
		q.Now = time.Time{} // there is no history, so only prices per hour are reported
	}
	if x.since > 0 {
		q.Since = time.Now().Add(-x.since)
	}
	return saved.Report(q), nil
}

// byCommitment is the value of --by that shows the commitments only.
const byCommitment = "commitment"

func (x *costing) onlyCommitments() bool { return x.by == byCommitment }

func (x *costing) print(w io.Writer, r ledger.Report) error {
	switch {
	case x.output == "json":
		return printJSON(w, r)
	case x.output == "csv" && x.onlyCommitments():
		return report.CommitmentsCSV(w, r)
	case x.output == "csv":
		return report.CostCSV(w, r)
	case x.onlyCommitments():
		_, err := io.WriteString(w, styleOf(w).Commitments(r))
		return err
	}
	_, err := io.WriteString(w, styleOf(w).Cost(r, x.output == "wide"))
	return err
}

// ofManifests allocates the price of the nodes in the manifests.
func (x *costing) ofManifests(cmd *cobra.Command, p *progress) (ledger.Saved, error) {
	c, err := x.read(cmd, p, &x.solver)
	if err != nil {
		return ledger.Saved{}, err
	}
	run := c.Decide(x.options(), 1, time.Now)
	return x.allocate(cmd, p, run, nil), nil
}

// ofCluster returns the stored ledger of the controller. Without one, or with --now, it returns the current prices
// per hour.
func (x *costing) ofCluster(cmd *cobra.Command, p *progress) (ledger.Saved, error) {
	if !x.now {
		p.say("reading the ledger")
		saved, ok, err := x.stored(cmd)
		if err != nil || ok {
			return saved, err
		}
	}
	run, there, err := x.decideLive(cmd, p, &x.solver)
	if err != nil {
		return ledger.Saved{}, err
	}
	usage, err := live.Usage(cmd.Context(), there)
	if err != nil {
		warn(cmd.ErrOrStderr(), []string{"usage of pods is not known, requests count: " + err.Error()})
	}
	return x.allocate(cmd, p, run, usage), nil
}

// allocate returns the allocation of the current prices of the nodes, in dollars per hour. usage has the resources that pods
// use, by pod key; it may be nil.
func (x *costing) allocate(cmd *cobra.Command, p *progress, run *offline.Run, usage map[string]model.Resources) ledger.Saved {
	p.say("checking why nodes are kept")
	simulated := len(x.files) > 0
	d := run.Disrupt(x.controller.disruption(simulated), time.Now)
	p.pause()
	tellFaults(cmd, run)
	return run.Costs(d, x.label, usage, simulated)
}

// stored returns the stored ledger of the controller. ok is false if there is none, or if the user may not read it.
func (x *costing) stored(cmd *cobra.Command) (saved ledger.Saved, ok bool, err error) {
	there, err := clusterClient()
	if err != nil {
		return saved, false, err
	}
	saved, ok, err = live.Ledger(cmd.Context(), there)
	switch {
	case apierrors.IsForbidden(err):
		warn(cmd.ErrOrStderr(), []string{"cannot read ConfigMap " + ledger.MapName + ", history is omitted: " + err.Error()})
		return saved, false, nil
	case err != nil:
		return saved, false, coded{exitUnreachable, err}
	case !ok:
		warn(cmd.ErrOrStderr(), []string{"ConfigMap " + ledger.MapName + " not found, history is omitted"})
	case time.Since(saved.Until) > 10*time.Minute:
		warn(cmd.ErrOrStderr(), []string{"the controller stored the costs last at " + saved.Until.UTC().Format(time.RFC3339) + "; is it running?"})
	}
	if ok && x.label != "" && x.label != saved.Label {
		warn(cmd.ErrOrStderr(), []string{fmt.Sprintf("the controller adds up by label %q (--cost-allocation-label), --label is ignored; see --now", saved.Label)})
	}
	return saved, ok, nil
}

// clusterClient returns a client for the cluster in KUBECONFIG.
func clusterClient() (client.Client, error) {
	kube, err := clusterConfig(", or use -f to work on manifests")
	if err != nil {
		return nil, err
	}
	scheme, err := live.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(kube, client.Options{Scheme: scheme})
	if err != nil {
		return nil, coded{exitUnreachable, fmt.Errorf("connect to %s: %w", kube.Host, err)}
	}
	return c, nil
}
