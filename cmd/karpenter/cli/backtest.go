package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/backtest"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// current is the name of the policy with the NodePools of -f.
const current = "current"

// A backtesting has the flags of backtest.
type backtesting struct {
	input
	solver
	output   output
	settings backtest.Settings
	// trace is the file of --trace. After separate it may be one of -f. It is empty if the pods in manifests are the trace.
	trace    string
	from     string
	duration time.Duration
	// policies are the values of --policy, each as FILE or NAME=FILE. consolidations are those of --consolidation,
	// each as NAME=POLICY[,AFTER].
	policies, consolidations []string
}

func backtestCommand() *cobra.Command {
	s := backtesting{settings: backtest.DefaultSettings(), solver: solver{allOfferings: true}}
	c := &cobra.Command{
		Use:   "backtest -f TRACE [-f FILE|DIR ...] [--policy FILE ...]",
		Short: "Replay a recorded day of a cluster under other NodePools and settings",
		Long: "Replay the pods of a recorded day under the NodePools of -f and under others, and compare what they cost, how many\n" +
			"pods were evicted and how long pods waited for a node.\n\n" +
			"The trace is a CSV file with a line for each pod, as in public cluster traces, or an audit log of Kubernetes as JSON\n" +
			"lines, such as that of EKS or of capture --follow. It is recognized among the files of -f by its content. Without such\n" +
			"a file, the pods in the manifests of -f exist during the whole period.\n\n" +
			"Columns of CSV: cpu (or cpu_milli), memory (or memory_mib), num_gpu, gpu_milli, creation_time, deletion_time,\n" +
			"namespace, owner. Times are seconds or as in RFC 3339.\n\n" +
			"The decisions are those of the controller, on a virtual clock. Without a NodePool, one named default is used: on-demand,\n" +
			"no limits. With --policy, the NodePools of -f are a policy only if there are some. Nodes in -f do not count. No cluster\n" +
			"and no cloud account is needed.",
		Example: "  karpenter backtest -f pods.csv\n" +
			"  karpenter backtest -f pods.csv --policy spot.yaml --policy large.yaml -o json\n" +
			"  karpenter backtest -f pods.csv -f nodepool.yaml --policy cheap=nodepools/spot.yaml\n" +
			"  karpenter backtest -f pods.csv -f nodepool.yaml --consolidation never=WhenEmpty,Never --consolidation calm=WhenEmptyOrUnderutilized,30m\n" +
			"  karpenter backtest -f audit.jsonl -f cluster.json --from 2026-01-05T00:00:00Z --duration 24h -o json\n" +
			"  karpenter backtest -f cluster.json --policy spot.yaml    # the pods of a capture for 24 hours\n" +
			"  gunzip -c pods.csv.gz | karpenter backtest --trace - -f nodepool.yaml",
		Args: noArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return s.run(cmd)
		}),
	}
	s.input.addFlags(c)
	s.solver.addFlags(c)
	s.output.addFlagWithYAML(c)
	f := c.Flags()
	c.Flag("filename").Usage = "File of a trace, or file or directory of manifests, - for standard input; may be repeated"
	f.StringVar(&s.trace, "trace", "", "File with the pods to replay, instead of a trace among the files of -f; - for standard input")
	f.StringVar(&s.from, "from", "", "Begin of the replayed period, as a time or in seconds as in the trace (default: the first pod)")
	f.DurationVar(&s.duration, "duration", 24*time.Hour, "Length of the replayed period; 0 is until the end of the trace")
	f.StringArrayVar(&s.policies, "policy", nil,
		"Another policy as FILE or NAME=FILE: the NodePools of the file instead of those of -f; may be repeated")
	f.StringArrayVar(&s.consolidations, "consolidation", nil,
		"Another policy as NAME=POLICY[,AFTER]: the NodePools of -f with this consolidationPolicy and consolidateAfter; may be repeated")
	f.DurationVar(&s.settings.Step, "step", s.settings.Step, "Interval of the virtual clock; pods of one interval are planned together")
	f.DurationVar(&s.settings.Boot, "boot-time", s.settings.Boot, "Time from the launch of a node until it accepts pods")
	f.DurationVar(&s.settings.Disrupt, "disruption-interval", s.settings.Disrupt, "Interval between decisions of disruption")
	f.DurationVar(&s.settings.Sample, "sample-interval", s.settings.Sample, "Longest interval at which the lower bound of the price is computed; it is computed 24 times at least")
	f.Int64Var(&s.settings.Slices, "gpu-slices", s.settings.Slices, "Number of pods that may share an accelerator; a share is rounded up to slices")
	return c
}

func (s *backtesting) check() error {
	for _, check := range []func() error{s.output.checkWithYAML, s.checkFiles, s.cataloguing.check, s.solver.check, s.checkOwn} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkOwn checks the flags that only this command has.
func (s *backtesting) checkOwn() error {
	errs := []error{s.settings.Validate()}
	if slices.Contains(s.files, manifest.Stdin) && s.trace == manifest.Stdin {
		errs = append(errs, errStdinTwice)
	}
	if s.duration < 0 || s.duration > backtest.MaxPeriod {
		errs = append(errs, fmt.Errorf("--duration: %v is out of range, use 0 to %v", s.duration, backtest.MaxPeriod))
	}
	if _, err := s.begin(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, s.checkNames()...)
	for _, v := range s.consolidations {
		if _, _, err := consolidation(v); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return coded{exitUsage, err}
	}
	return nil
}

// checkFiles returns an error if no file is given.
func (s *backtesting) checkFiles() error {
	if len(s.files) == 0 && s.trace == "" {
		return errNoFiles
	}
	return nil
}

// checkNames checks that each policy has a name of its own, and the form of its flag.
func (s *backtesting) checkNames() (errs []error) {
	names := []string{current}
	add := func(flag, want, value, name, rest string) {
		switch {
		case name == "" || rest == "" || rest == manifest.Stdin:
			errs = append(errs, fmt.Errorf("--%s: %q is not %s", flag, value, want))
		case slices.Contains(names, name):
			errs = append(errs, fmt.Errorf("--%s: policy %s is given twice: use another name with NAME=", flag, name))
		}
		names = append(names, name)
	}
	for _, v := range s.policies {
		name, file := policyFlag(v)
		add("policy", "FILE or NAME=FILE", v, name, file)
	}
	for _, v := range s.consolidations {
		name, rest, _ := strings.Cut(v, "=")
		add("consolidation", "NAME=POLICY[,AFTER]", v, name, rest)
	}
	return errs
}

// policyFlag parses a value of --policy. A policy without a name has the name of its file without the extension.
func policyFlag(v string) (name, file string) {
	if name, file, named := strings.Cut(v, "="); named {
		return name, file
	}
	return strings.TrimSuffix(filepath.Base(v), filepath.Ext(v)), v
}

// begin returns the time of --from, zero if it is not given.
func (s *backtesting) begin() (time.Time, error) {
	if s.from == "" {
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseInt(s.from, 10, 64); err == nil && seconds >= 0 && seconds < 1<<37 {
		return time.Unix(seconds, 0), nil
	}
	at, err := time.Parse(time.RFC3339, s.from)
	if err != nil || at.Unix() < 0 {
		return time.Time{}, fmt.Errorf("--from: %q is not a time; give seconds from 0 on, or a time such as 2026-01-05T12:00:00Z", s.from)
	}
	return at, nil
}

// consolidation parses the value of --consolidation, which is NAME=POLICY[,AFTER]. after is nil if AFTER is missing.
func consolidation(v string) (policy apiv1.ConsolidationPolicy, after *apiv1.NillableDuration, err error) {
	_, rest, _ := strings.Cut(v, "=")
	name, text, given := strings.Cut(rest, ",")
	policy = apiv1.ConsolidationPolicy(name)
	known := []apiv1.ConsolidationPolicy{
		apiv1.ConsolidationPolicyWhenEmpty, apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, apiv1.ConsolidationPolicyBalanced,
	}
	if !slices.Contains(known, policy) {
		return "", nil, fmt.Errorf("--consolidation: unknown policy %q, use WhenEmpty, WhenEmptyOrUnderutilized or Balanced", name)
	}
	if !given {
		return policy, nil, nil
	}
	d, err := apiv1.ParseNillableDuration(text)
	if err != nil {
		return "", nil, fmt.Errorf("--consolidation: consolidateAfter %q: %w", text, err)
	}
	return policy, &d, nil
}

func (s *backtesting) run(cmd *cobra.Command) error {
	// The process ends soon, so fewer garbage collections are worth the additional memory.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	if err := s.separate(cmd); err != nil {
		return err
	}
	c, set, catalogue, err := s.readAll(cmd, p, &s.solver)
	if err != nil {
		return err
	}
	policies, err := s.readPolicies(cmd, p, c, len(manifest.Of[*apiv1.NodePool](set)) > 0)
	if err != nil {
		return err
	}
	trace, err := s.readTrace(cmd, p, set, catalogue)
	if err != nil {
		return err
	}
	what := "replaying " + units.Counted(len(trace.Pods), "pod")
	if len(policies) > 1 {
		what += fmt.Sprintf(" under %d policies", len(policies))
	}
	p.say(what)
	start := time.Now()
	result, err := backtest.Compare(trace, policies, s.settings, func(done float64) {
		if percent := int(done*10) * 10; percent > 0 { // not each percent, since every step may be a line
			p.say(fmt.Sprintf("%s: %d%%", what, percent))
		}
	})
	result.Seconds = time.Since(start).Seconds()
	p.pause()
	if err != nil {
		return err
	}
	return s.output.print(cmd, answer{result, func(style report.Style) string { return style.Backtest(result) }})
}

// readPolicies returns the policy of the manifests in -f, c, then those of the flags in their order. If pooled is false, the
// manifests have no NodePool. Their policy is then left out unless there is no other one, or one of --consolidation.
func (s *backtesting) readPolicies(cmd *cobra.Command, p *progress, c *offline.Case, pooled bool) ([]backtest.Policy, error) {
	own, warnings := backtest.NewPolicy(current, c, s.options(), s.disruption())
	var out []backtest.Policy
	if pooled || len(s.policies) == 0 || len(s.consolidations) > 0 {
		out = append(out, own)
		warn(cmd.ErrOrStderr(), warnings)
	}
	for _, v := range s.policies {
		name, file := policyFlag(v)
		other, err := s.policy(cmd, p, name, file)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
		out = append(out, other)
	}
	for _, v := range s.consolidations {
		name, _, _ := strings.Cut(v, "=")
		policy, after, _ := consolidation(v) // was checked
		out = append(out, own.WithConsolidation(name, policy, after))
	}
	return out, nil
}

// policy reads a policy: the NodePools of the file, and the other objects of -f.
func (s *backtesting) policy(cmd *cobra.Command, p *progress, name, file string) (backtest.Policy, error) {
	set, err := manifest.Read(cmd.Context(), []string{file}, manifest.Options{Legacy: converter{}})
	if err != nil {
		return backtest.Policy{}, err
	}
	var pools []string
	for _, o := range manifest.Of[*apiv1.NodePool](set) {
		pools = append(pools, o.Name)
	}
	if len(pools) == 0 {
		return backtest.Policy{}, fmt.Errorf("%s has no NodePool", file)
	}
	in := s.input
	in.files = append(slices.Clone(s.files), file)
	c, err := in.read(cmd, p, &s.solver)
	if err != nil {
		return backtest.Policy{}, err
	}
	c.Delta.Pools = slices.DeleteFunc(c.Delta.Pools, func(o *apiv1.NodePool) bool { return !slices.Contains(pools, o.Name) })
	policy, warnings := backtest.NewPolicy(name, c, s.options(), s.disruption())
	warn(cmd.ErrOrStderr(), warnings)
	return policy, nil
}

// disruption returns the options of disruption: those of the controller, without pauses and rate limits of the moment.
func (s *backtesting) disruption() disrupt.Options {
	o := s.controller.disruption(false)
	o.Paused, o.MaxNodes = false, 0
	return o
}
