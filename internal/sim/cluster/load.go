package cluster

import (
	"fmt"
	"math"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A Curve is how the demand for replicas of a Deployment changes over time.
type Curve struct {
	// Base is the mean number of replicas. A sine wave adds and subtracts up to Amplitude times Base. Period is the length of
	// the wave, 1 hour by default.
	Base      float64
	Amplitude float64
	Period    time.Duration
	// Noise is the largest random change of the demand in each interval, as a share of the demand.
	Noise float64
	// SpikeChance is the probability that demand is multiplied by SpikeFactor in a period of SpikeLength, 5 minutes by default.
	SpikeChance, SpikeFactor float64
	SpikeLength              time.Duration
	// Min and Max bound the replicas. Default: 0, and no upper bound.
	Min, Max int32
	// Every is the time between two decisions. Default: 15 seconds.
	Every time.Duration
	// Stabilize is how long demand must be lower before replicas are removed. Default: 5 minutes.
	Stabilize time.Duration
}

// withDefaults returns c with its zero fields set.
func (c Curve) withDefaults() Curve {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&c.Period, time.Hour)
	set(&c.SpikeLength, 5*time.Minute)
	set(&c.Every, 15*time.Second)
	set(&c.Stabilize, 5*time.Minute)
	if c.Max == 0 {
		c.Max = math.MaxInt32
	}
	return c
}

// Demand returns the demand at a time since the beginning. It depends on the arguments alone.
func (c Curve) Demand(seed uint64, name string, since time.Duration) float64 {
	c = c.withDefaults()
	d := c.Base * (1 + c.Amplitude*math.Sin(2*math.Pi*(since.Seconds()/c.Period.Seconds()+draw(seed, name, "phase"))))
	if c.Noise > 0 {
		d *= 1 + c.Noise*(2*draw(seed, name, "noise", strconv.FormatInt(int64(since/c.Every), 10))-1)
	}
	if c.SpikeChance > 0 && draw(seed, name, "spike", strconv.FormatInt(int64(since/c.SpikeLength), 10)) < c.SpikeChance {
		d *= c.SpikeFactor
	}
	return max(0, d)
}

// Load changes the replicas of Deployments over time, as a HorizontalPodAutoscaler does: immediately when demand rises, and
// only after Curve.Stabilize when it falls.
type Load struct {
	*Actor
	c      *Cluster
	scaled map[ref]*scaler
}

// scaler is the state of one scaled Deployment.
type scaler struct {
	curve   Curve
	started time.Time
	nextAt  time.Time
	recent  []decision // the last ones, oldest first
}

// decision is the number of replicas that the demand required at a time.
type decision struct {
	at       time.Time
	replicas int32
}

func newLoad(c *Cluster) *Load {
	return &Load{Actor: newActor("load", c), c: c, scaled: map[ref]*scaler{}}
}

// Scale lets a Deployment follow a curve from the next Step on.
func (l *Load) Scale(namespace, name string, curve Curve) {
	l.reconcilers["Deployment"] = l.deployment
	r := ref{"Deployment", namespace, name}
	l.scaled[r] = &scaler{curve: curve.withDefaults()}
	l.dirty[r] = true
}

// Stop ends Scale. The Deployment keeps its replicas.
func (l *Load) Stop(namespace, name string) { delete(l.scaled, ref{"Deployment", namespace, name}) }

// tolerance is the share of the current replicas by which demand may differ without a change of the replicas.
const tolerance = 0.1

// deployment sets the replicas of a Deployment when the next decision is due.
func (l *Load) deployment(now time.Time, r ref) (time.Time, error) {
	s := l.scaled[r]
	d, exists := kubeapi.Find[*appsv1.Deployment](l.c.server, r.namespace, r.name)
	if s == nil || !exists || d.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	if s.started.IsZero() {
		s.started, s.nextAt = now, now
	}
	if now.Before(s.nextAt) {
		return s.nextAt, nil
	}
	for !now.Before(s.nextAt) {
		s.nextAt = s.nextAt.Add(s.curve.Every)
	}
	replicas := s.decide(s.curve.Demand(l.c.seed, r.namespace+"/"+r.name, now.Sub(s.started)), replicasOf(d.Spec.Replicas), now)
	if replicas == replicasOf(d.Spec.Replicas) {
		return s.nextAt, nil
	}
	d = d.DeepCopy()
	d.Spec.Replicas = &replicas
	if _, err := kubeapi.Update(l.c.server, d); err != nil {
		return time.Time{}, fmt.Errorf("scale to %d: %w", replicas, err)
	}
	return s.nextAt, nil
}

// decide returns the replicas for a demand. If it requires fewer than the current replicas, the result is the highest number
// that demand required within Curve.Stabilize, at most current.
func (s *scaler) decide(demand float64, current int32, now time.Time) int32 {
	wanted := current
	if current == 0 || math.Abs(demand/float64(current)-1) > tolerance {
		wanted = int32(min(math.Ceil(demand), math.MaxInt32))
	}
	wanted = min(max(wanted, s.curve.Min), s.curve.Max)
	s.recent = append(s.recent, decision{now, wanted})
	for s.recent[0].at.Before(now.Add(-s.curve.Stabilize)) {
		s.recent = s.recent[1:]
	}
	highest := wanted
	for _, d := range s.recent {
		highest = max(highest, d.replicas)
	}
	if wanted < current {
		return min(current, highest)
	}
	return wanted
}
