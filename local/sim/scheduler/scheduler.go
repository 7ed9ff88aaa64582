package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/karpenter-go/karpenter/internal/sim"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// everyPriority is the limit of events that may help pods of any priority.
const everyPriority = math.MaxInt32

// A Scheduler binds pods to nodes.
type Scheduler struct {
	server  *kubeapi.Server
	seed    uint64
	profile *profile
	queue   *queue
	// waits are the pods whose PersistentVolumeClaims are being bound, in the order in which their nodes were chosen.
	waits []*wait
	// changed is true if an object changed after the last Step that did something. next is the result of that Step.
	changed bool
	next    time.Time
	// broken is the first error of the index, which a bug causes. No Step does anything afterwards.
	broken error
}

var _ sim.Actor = (*Scheduler)(nil)

// New returns a scheduler for the pods of a server whose schedulerName is that of the default scheduler. The seed decides
// between nodes of equal scores.
func New(server *kubeapi.Server, seed uint64) (*Scheduler, error) {
	s := &Scheduler{server: server, seed: seed, queue: newQueue(), changed: true}
	var err error
	if s.profile, err = newProfile(server, s.queue); err != nil {
		return nil, err
	}
	s.load()
	server.OnWrite(s.observe)
	return s, s.broken
}

// Name implements sim.Actor.
func (s *Scheduler) Name() string { return "kube-scheduler" }

// Step implements sim.Actor. It tries every pod that is due.
func (s *Scheduler) Step(now time.Time) (time.Time, error) {
	if s.broken != nil || !s.changed && (s.next.IsZero() || now.Before(s.next)) {
		return s.next, s.broken
	}
	ctx := quiet()
	if err := s.finishWaits(ctx, now); err != nil {
		return time.Time{}, err
	}
	// An attempt may make other pods ready, so this repeats until no pod is due.
	for due := s.queue.due(now); len(due) > 0 && s.broken == nil; due = s.queue.due(now) {
		for _, e := range due {
			if err := s.try(ctx, e, now); err != nil {
				return time.Time{}, fmt.Errorf("schedule %s: %w", klog.KObj(e.pod), err)
			}
		}
	}
	s.changed, s.next = false, s.queue.next()
	for _, w := range s.waits {
		s.next = earlier(s.next, w.deadline)
	}
	return s.next, s.broken
}

// try attempts to schedule one pod. An error means that a write failed.
func (s *Scheduler) try(ctx context.Context, e *entry, now time.Time) error {
	if err := s.profile.cache.UpdateSnapshot(klog.FromContext(ctx), s.profile.snapshot); err != nil {
		return fmt.Errorf("take snapshot: %w", err)
	}
	state := framework.NewCycleState()
	node, err := s.profile.choose(ctx, state, e.pod, s.seed)
	if err != nil {
		return s.refuse(ctx, e, err, now)
	}
	// The pod is assumed to be on the node until it is bound, so that the next attempts count it there.
	assumed := e.pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := s.profile.cache.AssumePod(klog.FromContext(ctx), assumed); err != nil {
		return fmt.Errorf("assume on node %s: %w", node, err)
	}
	if claims := s.unbound(e.pod); len(claims) > 0 {
		return s.await(ctx, e, assumed, claims, now)
	}
	return s.bind(ctx, assumed)
}

// bind binds an assumed pod. The write confirms the assumption; see observe.
func (s *Scheduler) bind(ctx context.Context, assumed *corev1.Pod) error {
	status := s.profile.framework.RunBindPlugins(ctx, framework.NewCycleState(), assumed, assumed.Spec.NodeName)
	if !status.IsSuccess() {
		return fmt.Errorf("bind to node %s: %w", assumed.Spec.NodeName, status.AsError())
	}
	return nil
}

// refuse ends an attempt without a node. It states the reason in the condition PodScheduled.
func (s *Scheduler) refuse(ctx context.Context, e *entry, cause error, now time.Time) error {
	var fit *framework.FitError
	reason, clear := corev1.PodReasonUnschedulable, true
	switch {
	case errors.As(cause, &fit):
		e.rejected(fit.Diagnosis.UnschedulablePlugins, now)
		clear = e.pod.Spec.PreemptionPolicy == nil || *e.pod.Spec.PreemptionPolicy != corev1.PreemptNever
	case errors.Is(cause, errNoNodes):
		e.rejected(nil, now)
	default:
		reason = corev1.PodReasonSchedulerError
		e.failed(now)
	}
	status := e.pod.Status.DeepCopy()
	setUnscheduled(status, e.pod.Generation, reason, cause.Error(), now)
	if clear {
		status.NominatedNodeName = ""
	}
	return s.writeStatus(ctx, e.pod, status)
}
