package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/bench/upstream"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/backtest"
	"github.com/karpenter-go/karpenter/internal/backtest/synthetic"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
	answers "github.com/karpenter-go/karpenter/internal/report"
)

// backtestPool is the NodePool of bench backtest if no file is given.
const backtestPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}
  disruption: {consolidateAfter: 5m, consolidationPolicy: WhenEmptyOrUnderutilized, budgets: [{nodes: 10%}]}
`

// upstreamWait is how long upstream Karpenter's controller waits before it validates a disruption command. The interval of
// disruption divided by upstreamWait is the number of commands that upstream may begin per interval.
const upstreamWait = 15 * time.Second

// A backtesting has the flags of bench backtest.
type backtesting struct {
	peer, trace, file, output string
	pods                      int
	seed                      uint64
	hours                     float64
	settings                  backtest.Settings
}

// replayDay replays one day with the decisions of this project and with those of upstream, and prints both results.
func replayDay(args []string) error {
	s := backtesting{settings: backtest.DefaultSettings()}
	f := flag.NewFlagSet("bench backtest", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "Replay a day with the decisions of karpenter-go and of upstream, and compare dollars, evictions and waiting times.\n"+
			"The trace and the NodePools are read as by karpenter backtest. Flags:\n")
		f.PrintDefaults()
	}
	f.StringVar(&s.peer, "peer", "bin/bench-peer", "the program built from bench/peer; empty to leave upstream out")
	f.StringVar(&s.trace, "trace", "", "file with the pods, CSV or an audit log; empty for generated services and jobs")
	f.StringVar(&s.file, "f", "", "file with NodePools and other objects; empty for one NodePool of c, m and r with up to 16 cores")
	f.IntVar(&s.pods, "pods", 300, "size of a generated day: pods of services at noon, and jobs in the day")
	f.Uint64Var(&s.seed, "seed", 1, "seed of a generated day")
	f.Float64Var(&s.hours, "hours", 24, "length of the replayed period in hours, from the first pod on")
	f.DurationVar(&s.settings.Step, "step", s.settings.Step, "interval of the virtual clock; pods of one interval are planned together")
	f.DurationVar(&s.settings.Boot, "boot-time", s.settings.Boot, "time from the launch of a node until it accepts pods")
	f.DurationVar(&s.settings.Disrupt, "disruption-interval", s.settings.Disrupt, "interval between decisions of disruption")
	f.StringVar(&s.output, "o", "table", "output: table or json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.output != "table" && s.output != "json" {
		return fmt.Errorf("-o: unknown output %q, use table or json", s.output)
	}
	if err := s.settings.Validate(); err != nil {
		return err
	}
	return s.run(os.Stdout, os.Stderr)
}

func (s *backtesting) run(out, progress io.Writer) (err error) {
	trace, err := s.read()
	if err != nil {
		return err
	}
	ours, err := s.policy()
	if err != nil {
		return err
	}
	policies := []backtest.Policy{ours}
	if s.peer != "" {
		theirs := ours
		theirs.Name = "upstream"
		var planner *upstream.Planner
		theirs.Planner = func() (backtest.Planner, error) {
			var err error
			planner, err = upstream.Start(s.peer, max(1, int(s.settings.Disrupt/upstreamWait)))
			return planner, err
		}
		defer func() {
			if planner != nil {
				_ = planner.Close() // the results are complete
			}
		}()
		policies = append(policies, theirs)
		defer func() {
			if planner != nil && err == nil {
				fmt.Fprintf(progress, "commands of upstream by method: %v\n", planner.Begun)
			}
		}()
	}
	last := -1
	start := time.Now()
	result, err := backtest.Compare(trace, policies, s.settings, func(done float64) {
		if percent := int(done * 100); percent > last {
			last = percent
			fmt.Fprintf(progress, "replayed %d%%\n", percent)
		}
	})
	if err != nil {
		return err
	}
	result.Seconds = time.Since(start).Seconds()
	if s.output == "json" {
		return json.NewEncoder(out).Encode(result)
	}
	_, err = io.WriteString(out, answers.Style{}.Backtest(result))
	return err
}

func (s *backtesting) read() (*backtest.Trace, error) {
	name, in := "the generated day", io.Reader(nil)
	if s.trace == "" {
		in = bytes.NewReader(synthetic.Day(s.pods, s.seed))
	} else {
		file, err := os.Open(s.trace)
		if err != nil {
			return nil, fmt.Errorf("read -trace: %w", err)
		}
		defer file.Close() // was read only
		name, in = s.trace, file
	}
	trace, err := backtest.Read(name, in, nil)
	if err != nil {
		return nil, err
	}
	return trace, trace.Cut(time.Time{}, time.Duration(s.hours*float64(time.Hour)))
}

func (s *backtesting) policy() (backtest.Policy, error) {
	files, o := []string{s.file}, manifest.Options{}
	if s.file == "" {
		files, o.Stdin = []string{manifest.Stdin}, strings.NewReader(backtestPool)
	}
	set, err := manifest.Read(context.Background(), files, o)
	if err != nil {
		return backtest.Policy{}, err
	}
	c, err := offline.Assemble(set, offline.Shipped(offline.DefaultRegion), time.Unix(0, 0))
	if err != nil {
		return backtest.Policy{}, err
	}
	policy, warnings := backtest.NewPolicy("karpenter-go", c, pack.Options{}, disrupt.Options{})
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, w)
	}
	return policy, nil
}
