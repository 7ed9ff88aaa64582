package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/top"
)

// topView has the flags of the command top.
type topView struct {
	input
	solver
	output   output
	once     bool
	interval time.Duration
}

func topCommand() *cobra.Command {
	var t topView
	c := &cobra.Command{
		Use:   "top",
		Short: "Show nodes, pending pods, NodePools and decisions, live in the terminal",
		Long: "Show nodes with their use, price and the reason why they are kept, pending pods, NodePools with their limits, and the\n" +
			"decisions of the controller.\n\n" +
			"The cluster is the one that KUBECONFIG selects. It is only read: all objects once, then changes. Reasons are computed\n" +
			"here, as for karpenter plan. With -f the cluster consists of the manifests. If the output is not a terminal, or with\n" +
			"--once, everything is printed once. Colours are omitted if NO_COLOR is set.\n" +
			"Keys: tab or 1 to 4 page, arrows select, s sort, r reverse, / search, p pause, ? help, q quit.",
		Example: "  karpenter top\n" +
			"  karpenter top --once -o json | jq '.nodes[] | select(.rule == \"pdb\") | .name'\n" +
			"  karpenter top -f cluster.json --once",
		Args: noArgs,
	}
	t.input.addFlags(c)
	t.solver.addFlags(c)
	t.output.addFlagWithYAML(c)
	f := c.Flags()
	f.BoolVar(&t.once, "once", false, "Print everything once and exit")
	f.StringVar(&t.namespace, "controller-namespace", "", "Namespace of the controller (default: searched)")
	f.DurationVar(&t.interval, "interval", 2*time.Second, "Least time between two updates; it is longer if computing takes longer than a quarter of it")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		for _, check := range []func() error{t.output.checkWithYAML, t.cataloguing.check, t.solver.check} {
			if err := check(); err != nil {
				return err
			}
		}
		if t.interval <= 0 {
			return coded{exitUsage, errors.New("--interval must be greater than 0")}
		}
		if t.once || t.output.encoded() || len(t.files) > 0 || !isTerminal(cmd.OutOrStdout()) {
			return interruptible(t.print)(cmd, args)
		}
		return t.show(cmd)
	}
	return c
}

// print prints the data of the view once, as text or encoded.
func (t *topView) print(cmd *cobra.Command, _ []string) error {
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	x := explanation{input: t.input, solver: t.solver}
	run, err := x.decide(cmd, p)
	if err != nil {
		return err
	}
	var episodes []decisions.Episode
	if x.there != nil {
		episodes, _, err = live.Decisions(cmd.Context(), x.there, t.namespace)
		if err != nil {
			warn(cmd.ErrOrStderr(), []string{"decisions are omitted: " + err.Error()})
		}
	}
	p.say("checking disruption of " + units.Counted(len(run.Snapshot.Nodes()), "node"))
	d := top.Of(run, run.Disrupt(x.controller.disruption(len(t.files) > 0), time.Now), episodes)
	d.Controller = x.controller.shown()
	p.pause()
	tellFaults(cmd, run)
	if t.output.encoded() {
		return t.output.encode(cmd.OutOrStdout(), d)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), top.Text(d, max(columnsOf(cmd.OutOrStdout()), defaultColumns)))
	return err
}

// framesPerSecond bounds how often the screen is drawn, for slow links.
const framesPerSecond = 5

// show runs the terminal view until the user quits.
func (t *topView) show(cmd *cobra.Command) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	// Log lines of client libraries would overwrite parts of the screen.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	kube, err := clusterConfig("")
	if err != nil {
		return err
	}
	kube.QPS, kube.Burst = 100, 100
	source := &topSource{topView: t, ctx: ctx}
	p := newProgress(cmd.ErrOrStderr())
	p.say("reading the cluster")
	source.watched, err = live.Watch(ctx, kube, clock.RealClock{})
	p.end()
	if err != nil {
		return coded{exitUnreachable, err}
	}
	if source.there, err = watchingClient(100); err != nil {
		return err
	}
	go source.follow()
	program := tea.NewProgram(top.New(source.next), tea.WithContext(ctx), tea.WithFPS(framesPerSecond),
		tea.WithInput(os.Stdin), tea.WithOutput(cmd.OutOrStdout()))
	if _, err := program.Run(); err != nil && !errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("show the terminal view: %w", err)
	}
	return nil
}

// A topSource computes the Data of the view.
type topSource struct {
	*topView
	ctx     context.Context
	watched *live.Watched
	there   client.WithWatch
	// catalogue is opened with the first cluster.
	catalogue *offline.Catalogue
	met       time.Time // when the state of the controller was read

	mu       sync.Mutex
	episodes []decisions.Episode
}

// follow keeps episodes up to date. While the controller has published no decisions, or they cannot be read, follow
// searches for them every ten seconds.
func (t *topSource) follow() {
	for t.ctx.Err() == nil {
		episodes, namespace, err := live.Decisions(t.ctx, t.there, t.namespace)
		if err == nil {
			t.set(episodes)
			_ = live.FollowDecisions(t.ctx, t.there, namespace, func(e []decisions.Episode) error { // it is begun again below
				t.set(e)
				return nil
			})
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(10 * time.Second):
		}
	}
}

func (t *topSource) set(episodes []decisions.Episode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.episodes = episodes
}

// quiet returns a command whose warnings are not printed, because they would overwrite parts of the screen.
func (t *topSource) quiet() *cobra.Command {
	c := &cobra.Command{}
	c.SetContext(t.ctx)
	c.SetErr(io.Discard)
	return c
}

// meetEvery is the interval at which the settings, pauses and rate limits of the controller are read.
const meetEvery = 10 * time.Second

// meet reads what is known of the controller, unless that was read less than meetEvery ago.
func (t *topSource) meet(now time.Time) {
	if t.controller == nil || now.Sub(t.met) >= meetEvery {
		t.met = now
		_ = t.meetLive(t.ctx, t.there) // warnings are shown by karpenter plan
	}
}

// next computes the current Data. It also returns the wait until the next call: the interval, or four times the
// computation's time if that is longer.
func (t *topSource) next() (top.Data, time.Duration, error) {
	start := time.Now()
	d, err := t.compute(start)
	return d, max(t.interval, 4*time.Since(start)), err
}

func (t *topSource) compute(now time.Time) (top.Data, error) {
	found, err := t.watched.Now(t.ctx)
	if err != nil {
		return top.Data{}, err
	}
	if t.catalogue == nil {
		if t.catalogue, err = t.open(offline.RegionOf(found.Nodes, found.Classes)); err != nil {
			return top.Data{}, err
		}
		if err := t.payAsThere(t.quiet(), t.there, t.catalogue, found.Nodes); err != nil {
			return top.Data{}, err
		}
	}
	t.meet(now)
	t.dropIgnored(found)
	supply, err := t.catalogue.Supply(found.Pools, found.Classes, found.Overlays)
	if err != nil {
		return top.Data{}, err
	}
	s := t.furnish(t.quiet(), t.there, found.Snapshot.Apply(model.Delta{Types: t.controller.withUnavailable(supply.Types)})).At(now)
	o := t.options()
	o.Labels = t.catalogue.Labels()
	run := offline.Decide(s, o, time.Now)
	d := run.Disrupt(t.controller.disruption(false), time.Now)
	t.mu.Lock()
	defer t.mu.Unlock()
	data := top.Of(run, d, t.episodes)
	data.Controller = t.controller.shown()
	return data, nil
}
