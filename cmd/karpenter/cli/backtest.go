package cli

import (
	"errors"
	"fmt"
	"os"
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
	trace    string
	from     string
	duration time.Duration
	// policies are the values of --policy, each as NAME=FILE. consolidations are those of --consolidation,
	// each as NAME=POLICY[,AFTER].
	policies, consolidations []string
}

func backtestCommand() *cobra.Command {
	s := backtesting{settings: backtest.DefaultSettings(), solver: solver{allOfferings: true}}
	c := &cobra.Command{
		Use:   "backtest --trace FILE -f FILE|DIR [--policy NAME=FILE ...]",
		Short: "Replay a recorded day of a cluster under other NodePools and settings",
		Long: "Replay the pods of a recorded day under the NodePools of -f and under others, and compare what they cost, how many\n" +
			"pods were evicted and how long pods waited for a node.\n\n" +
			"The trace is a CSV file with a line for each pod, as in public cluster traces, or an audit log of Kubernetes as JSON\n" +
			"lines. Columns of CSV: cpu (or cpu_milli), memory (or memory_mib), gpu, gpu_milli, creation, deletion, namespace, owner.\n" +
			"Times are seconds or as in RFC 3339.\n\n" +
			"The decisions are those of the controller, on a virtual clock. The result is the same each time. Nodes and pods in -f\n" +
			"do not count. No cluster and no cloud account is needed.",
		Example: "  karpenter backtest --trace pods.csv -f nodepool.yaml\n" +
			"  karpenter backtest --trace pods.csv -f nodepool.yaml --policy spot=spot.yaml --policy large=large.yaml\n" +
			"  karpenter backtest --trace pods.csv -f nodepool.yaml --consolidation never=WhenEmpty,Never --consolidation calm=WhenEmptyOrUnderutilized,30m\n" +
			"  karpenter backtest --trace audit.jsonl -f cluster.json --from 2026-01-05T00:00:00Z --duration 24h -o json\n" +
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
	f.StringVar(&s.trace, "trace", "", "File with the pods to replay: CSV, or an audit log as JSON lines; - for standard input")
	f.StringVar(&s.from, "from", "", "Begin of the replayed period, as a time or in seconds as in the trace (default: the first pod)")
	f.DurationVar(&s.duration, "duration", 24*time.Hour, "Length of the replayed period; 0 is until the end of the trace")
	f.StringArrayVar(&s.policies, "policy", nil,
		"Another policy as NAME=FILE: the NodePools of the file instead of those of -f; may be repeated")
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
	for _, check := range []func() error{s.output.checkWithYAML, s.input.check, s.solver.check, s.checkOwn} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkOwn checks the flags that only this command has.
func (s *backtesting) checkOwn() error {
	errs := []error{s.settings.Validate()}
	if s.trace == "" {
		errs = append(errs, errors.New("required flag --trace not set (FILE, or - for standard input)"))
	}
	if slices.Contains(s.files, manifest.Stdin) && (s.trace == manifest.Stdin || len(s.policies) > 0) {
		errs = append(errs, errors.New("-f -: standard input can be read once only; write it to a file"))
	}
	if s.duration < 0 || s.duration > backtest.MaxPeriod {
		errs = append(errs, fmt.Errorf("--duration: %v is out of range, use 0 to %v", s.duration, backtest.MaxPeriod))
	}
	if _, err := s.begin(); err != nil {
		errs = append(errs, err)
	}
	names := []string{current}
	for _, flag := range []struct {
		name, want string
		values     []string
	}{{"policy", "NAME=FILE", s.policies}, {"consolidation", "NAME=POLICY[,AFTER]", s.consolidations}} {
		for _, v := range flag.values {
			name, rest, _ := strings.Cut(v, "=")
			switch {
			case name == "" || rest == "":
				errs = append(errs, fmt.Errorf("--%s: %q is not %s", flag.name, v, flag.want))
			case slices.Contains(names, name):
				errs = append(errs, fmt.Errorf("--%s: policy %s is given twice", flag.name, name))
			}
			names = append(names, name)
		}
	}
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
	policies, err := s.readPolicies(cmd, p)
	if err != nil {
		return err
	}
	trace, err := s.readTrace(cmd, p)
	if err != nil {
		return err
	}
	what := "replaying " + units.Counted(len(trace.Pods), "pod")
	if len(policies) > 1 {
		what += fmt.Sprintf(" under %d policies", len(policies))
	}
	p.say(what)
	result, err := backtest.Compare(trace, policies, s.settings, func(done float64) {
		if percent := int(done*10) * 10; percent > 0 { // not each percent, since every step may be a line
			p.say(fmt.Sprintf("%s: %d%%", what, percent))
		}
	})
	p.pause()
	if err != nil {
		return err
	}
	return s.output.print(cmd, answer{result, func(style report.Style) string { return style.Backtest(result) }})
}

// readPolicies returns the policy of -f, then those of the flags in their order.
func (s *backtesting) readPolicies(cmd *cobra.Command, p *progress) ([]backtest.Policy, error) {
	own, err := s.policy(cmd, p, current, "")
	if err != nil {
		return nil, err
	}
	out := []backtest.Policy{own}
	for _, v := range s.policies {
		name, file, _ := strings.Cut(v, "=")
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

// policy reads a policy. If file is not empty, its NodePools are used instead of those of -f.
func (s *backtesting) policy(cmd *cobra.Command, p *progress, name, file string) (backtest.Policy, error) {
	in := s.input
	var pools []string
	if file != "" {
		set, err := manifest.Read(cmd.Context(), []string{file}, manifest.Options{Legacy: converter{}})
		if err != nil {
			return backtest.Policy{}, err
		}
		for _, o := range manifest.Of[*apiv1.NodePool](set) {
			pools = append(pools, o.Name)
		}
		if len(pools) == 0 {
			return backtest.Policy{}, fmt.Errorf("%s has no NodePool", file)
		}
		in.files = append(slices.Clone(s.files), file)
	}
	c, err := in.read(cmd, p, &s.solver)
	if err != nil {
		return backtest.Policy{}, err
	}
	if file != "" {
		c.Delta.Pools = slices.DeleteFunc(c.Delta.Pools, func(o *apiv1.NodePool) bool { return !slices.Contains(pools, o.Name) })
	}
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

// readTrace reads the trace and cuts the replayed period out of it.
func (s *backtesting) readTrace(cmd *cobra.Command, p *progress) (*backtest.Trace, error) {
	name, in := "standard input", cmd.InOrStdin()
	if s.trace != manifest.Stdin {
		file, err := os.Open(s.trace)
		if err != nil {
			return nil, fmt.Errorf("read --trace: %w", err)
		}
		defer file.Close() // was read only
		name, in = s.trace, file
	}
	p.say("reading " + name)
	trace, err := backtest.Read(name, in, func(lines int) {
		if lines%1_000_000 == 0 {
			p.say(fmt.Sprintf("reading %s: %s lines", name, units.Grouped(lines)))
		}
	})
	if err != nil {
		return nil, err
	}
	from, _ := s.begin() // was checked
	if err := trace.Cut(from, s.duration); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.pause()
	warn(cmd.ErrOrStderr(), trace.Warnings)
	return trace, nil
}
