package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/bench/floor"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// Options are the options of a measurement.
type Options struct {
	// Bin is the directory of karpenter and karpenter-local. Dir is the directory for the cluster's state.
	Bin, Dir string
	// Controller is the program of the controller, and Name its name in reports. Without one, more than enough nodes
	// are created as soon as the last pod exists, to measure the time that no autoscaler can avoid. There is no
	// scale-in then.
	Controller, Name string
	// MaxCPU is the maximum number of cores of a node, 0 for any number.
	MaxCPU int
	// Pods is the number of created pods; a quarter of each deployment remains after the scale-in.
	Pods    int
	Profile workload.Profile
	Seed    uint64
	// ConsolidateAfter is the setting of the NodePool.
	ConsolidateAfter time.Duration
	// Boot is the time from the launch of a machine until its node joins; without a controller, from the creation of
	// the last pod until the nodes are created.
	Boot time.Duration
	// UpOnly ends the run when all pods run.
	UpOnly bool
	// DeletionOnly leaves out the mass drift of RunMass.
	DeletionOnly bool
	// Again deletes all pods instead of scaling in, keeps the nodes, and creates the pods once more, to measure the
	// time that Kubernetes takes without an autoscaler.
	Again bool
	// UpLimit and DownLimit are the time limits of scale-up and scale-in.
	UpLimit, DownLimit time.Duration
	// Each event is written to Log. Logs is a new directory for the logs of the cluster; empty keeps none.
	Log  io.Writer
	Logs string
	// Profiles is a new directory for profiles of the controller; empty makes none. See profile.
	Profiles string
}

// A Result is the result of one run.
type Result struct {
	// Name is the name of the controller. Pods is the number of created pods, Left the number after the scale-in, and
	// MaxCPU the option.
	Name               string
	Pods, Left, MaxCPU int
	// Made is the time from the creation of the first pod to that of the last, which depends on Kubernetes only.
	// FirstClaim and AllRun are times since all pods existed. FirstClaim is negative if the first claim existed before
	// that, and 0 if no claim was created.
	Made, FirstClaim, AllRun time.Duration
	// HalfRun and MostRun are the times until 50% and 90% of the pods ran.
	HalfRun, MostRun time.Duration
	// Planned is the number of claims when the first pod ran, Needed the number of nodes when all pods ran. OverFloor
	// is the ratio of their price to the lower bound.
	Planned, Needed int
	OverFloor       float64
	// Near is the time from the scale-in until the price was within 5% of the lower bound for the remaining pods. It
	// is negative if the price never was. Finally is the ratio of price and lower bound at the end. Settled is the
	// time of the last change of the price.
	Near, Settled time.Duration
	Finally       float64
	FinalNodes    int
	// HalfAgain and MostAgain are like HalfRun and MostRun, for the pods that Options.Again creates when the nodes exist.
	HalfAgain, MostAgain time.Duration
	// Course is the ratio of price and lower bound over time.
	Course []Point
	Usage  Usage
}

// A Point is one moment of a scale-in.
type Point struct {
	At        time.Duration
	Nodes     int
	OverFloor float64
}

// near is the ratio of price and lower bound at which Result.Near is measured.
const near = 1.05

// Run starts one cluster, measures it and stops it.
func Run(ctx context.Context, o Options) (r Result, err error) {
	r.Name, r.MaxCPU = o.Name, o.MaxCPU
	if _, err := os.Lstat(o.Logs); err == nil {
		return r, fmt.Errorf("keep logs in %s: it is there already; name another directory", o.Logs)
	}
	c := &Cluster{Bin: o.Bin, Dir: o.Dir, Controller: o.Controller}
	types, err := c.Types(ctx, o.MaxCPU)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.keepLogs(o.Logs), c.Down(ctx)) }()
	end, err := c.upProfiled(ctx, o.Profiles)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, end()) }()
	api, err := c.API(ctx)
	if err != nil {
		return r, err
	}
	watching, stop := context.WithCancel(ctx)
	seen, wait := Watch(watching, api)
	defer wait()
	defer stop()
	after := o.ConsolidateAfter.String()
	if o.Again {
		after = "Never"
	}
	if err := c.Apply(ctx, pool(after, o.MaxCPU, o.Boot)...); err != nil {
		return r, err
	}
	apps := Apps(o.Profile, o.Pods, o.Seed)
	if err := up(ctx, api, seen, apps, types, o, &r); err != nil {
		return r, fmt.Errorf("scale-up to %d pods: %w", o.Pods, err)
	}
	if err := afterwards(ctx, api, seen, apps, types, o, &r); err != nil || o.Controller == "" {
		return r, err
	}
	r.Usage, err = c.Usage(ctx)
	return r, err
}

// afterwards lists the writes of the scale-up. It then measures what o asks for after it, and lists the writes of that.
func afterwards(ctx context.Context, api *API, seen *Seen, apps []App, types []catalogue.Type, o Options, r *Result) error {
	before, err := api.counts(ctx)
	if err != nil {
		return fmt.Errorf("count requests: %w", err)
	}
	fmt.Fprintf(o.Log, "writes so far: %s\n", before)
	if o.Controller == "" || o.UpOnly {
		return nil
	}
	if o.Again {
		err = again(ctx, api, seen, apps, o, r)
	} else if err = down(ctx, api, seen, Quarter(apps), types, o, r); err != nil {
		err = fmt.Errorf("scale-in to %d pods: %w", r.Left, err)
	}
	if err != nil {
		return err
	}
	last, err := api.counts(ctx)
	if err != nil {
		return fmt.Errorf("count requests: %w", err)
	}
	fmt.Fprintf(o.Log, "writes since then: %s\n", last.since(before))
	return nil
}

// up creates the pods and waits until they run.
func up(ctx context.Context, a *API, seen *Seen, apps []App, types []catalogue.Type, o Options, r *Result) error {
	lowest, err := floorOf(apps, types)
	if err != nil {
		return err
	}
	r.Pods = len(Pods(apps))
	fmt.Fprintf(o.Log, "%s: making %d pods in %d deployments\n", r.Name, r.Pods, len(apps))
	if err := a.make(ctx, apps); err != nil {
		return err
	}
	if o.Controller == "" {
		err := eventually(ctx, o.UpLimit, func() (bool, string) {
			n := seen.Look().Pods
			return n == r.Pods, fmt.Sprintf("%d of %d pods exist", n, r.Pods)
		})
		if err != nil {
			return err
		}
		select {
		case <-time.After(o.Boot):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := a.ready(ctx, Pods(apps)); err != nil {
			return err
		}
	}
	var ran time.Time
	err = eventually(ctx, o.UpLimit, func() (bool, string) {
		l := seen.Look()
		ran = time.Now()
		return l.Running == r.Pods, fmt.Sprintf("%d of %d pods run on %d nodes", l.Running, r.Pods, l.Nodes)
	})
	if err != nil {
		return err
	}
	l := seen.Look()
	r.Made, r.AllRun = l.LastPod.Sub(l.FirstPod), ran.Sub(l.LastPod)
	if l.Claims > 0 {
		r.FirstClaim = l.FirstClaim.Sub(l.LastPod)
	}
	r.Planned, r.Needed, r.OverFloor = l.Planned, l.Nodes, l.Price/lowest
	r.HalfRun, r.MostRun = l.HalfRan.Sub(l.LastPod), l.MostRan.Sub(l.LastPod)
	fmt.Fprintf(o.Log, "half run after %.1fs, nine in ten after %.1fs, all after %.1fs: %d nodes planned, %d needed, %.3f of the floor\n",
		r.HalfRun.Seconds(), r.MostRun.Seconds(), r.AllRun.Seconds(), r.Planned, r.Needed, r.OverFloor)
	return nil
}

// again deletes all pods and creates them once more, on the existing nodes.
func again(ctx context.Context, a *API, seen *Seen, apps []App, o Options, r *Result) error {
	none := slices.Clone(apps)
	for i := range none {
		none[i].Replicas = 0
	}
	if err := a.scale(ctx, none); err != nil {
		return err
	}
	looks := 0 // looks in a row without pods; several are required, because a restarted watch has no objects for a moment
	err := eventually(ctx, o.DownLimit, func() (bool, string) {
		l := seen.Look()
		if looks++; l.Pods > 0 {
			looks = 0
		}
		return looks == 4, fmt.Sprintf("%d pods are left", l.Pods)
	})
	if err != nil {
		return err
	}
	before := seen.Ran()
	if err := a.scale(ctx, apps); err != nil {
		return err
	}
	err = eventually(ctx, o.UpLimit, func() (bool, string) {
		ran := seen.Ran() - before
		return ran >= r.Pods*9/10+1, fmt.Sprintf("%d of %d pods run once more", ran, r.Pods)
	})
	if err != nil {
		return err
	}
	last := seen.Look().LastPod
	r.HalfAgain, r.MostAgain = seen.RanAt(before+r.Pods/2).Sub(last), seen.RanAt(before+r.Pods*9/10).Sub(last)
	fmt.Fprintf(o.Log, "with the nodes there, half run after %.1fs, nine in ten after %.1fs\n", r.HalfAgain.Seconds(), r.MostAgain.Seconds())
	return nil
}

// down deletes most pods and records the price. It ends when all remaining pods run and the price has not changed for twice
// ConsolidateAfter plus a minute. It ends one second before DownLimit at the latest.
func down(ctx context.Context, a *API, seen *Seen, left []App, types []catalogue.Type, o Options, r *Result) error {
	lowest, err := floorOf(left, types)
	if err != nil {
		return err
	}
	r.Left = len(Pods(left))
	if err := a.scale(ctx, left); err != nil {
		return err
	}
	begun, last := time.Now(), math.Inf(1)
	r.Near = -1
	patience := 2*o.ConsolidateAfter + time.Minute
	fmt.Fprintf(o.Log, "scaled in to %d pods\n", r.Left)
	return eventually(ctx, o.DownLimit, func() (bool, string) {
		l, at := seen.Look(), time.Since(begun)
		over := l.Price / lowest
		if math.Abs(over-last) > 1e-9 { // the order in which prices are added may differ, and with it the rounding
			last, r.Settled = over, at
			r.Course = append(r.Course, Point{At: at, Nodes: l.Nodes, OverFloor: over})
		}
		if over <= near && r.Near < 0 && l.Running == r.Left {
			r.Near = at
			fmt.Fprintf(o.Log, "within 5%% of the floor after %.0fs\n", at.Seconds())
		}
		r.Finally, r.FinalNodes = over, l.Nodes
		still := l.Pods == r.Left && l.Running == r.Left && at-r.Settled > patience
		return still || at > o.DownLimit-time.Second, fmt.Sprintf("%d of %d pods run, %.3f of the floor", l.Running, r.Left, over)
	})
}

// floorOf returns the lower bound of the price of nodes for the apps' pods.
func floorOf(apps []App, types []catalogue.Type) (float64, error) {
	return floor.Price(&workload.Cluster{Catalogue: types, Pods: Pods(apps)}, "on-demand")
}

// eventually calls done twice a second until it returns true. After limit it returns an error with the text that done
// returned.
func eventually(ctx context.Context, limit time.Duration, done func() (ok bool, lacks string)) error {
	timeout := time.After(limit)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, lacks := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", lacks, context.Cause(ctx))
		case <-timeout:
			return fmt.Errorf("%s when the time of %v was up", lacks, limit)
		case <-tick.C:
		}
	}
}
