package reboot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/controller/internal/eviction"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// maxEvictions is the maximum number of evictions in one reconcile.
const maxEvictions = 50

// pods are the pods of a node that is about to be rebooted.
type pods struct {
	*Controller
	node     *corev1.Node
	now      time.Time
	decision drain.Decision
}

// read reads the pods of the node and sets decision: which of them are evicted before the reboot. Pods of DaemonSets are not
// evicted. PodDisruptionBudgets and do-not-disrupt protect pods only until the time limit of the drain (repair.RebootBound).
func (p *pods) read(ctx context.Context) error {
	list := &corev1.PodList{}
	if err := p.Client.List(ctx, list, client.MatchingFields{"spec.nodeName": p.node.Name}); err != nil {
		return fmt.Errorf("list pods of node %s: %w", p.node.Name, err)
	}
	state := drain.State{Now: p.now}
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner == nil || owner.Kind != "DaemonSet" {
			state.Pods = append(state.Pods, &list.Items[i])
		}
	}
	p.decision = drain.Decide(state)
	return nil
}

// evict evicts the pods of the current tier. Evictions that a PodDisruptionBudget refuses are repeated in the next
// reconcile.
func (p *pods) evict(ctx context.Context) error {
	var errs []error
	held := 0
	var first string // the first refusal
	for _, pod := range p.decision.Evict[:min(maxEvictions, len(p.decision.Evict))] {
		err := eviction.Request(ctx, p.Client, p.Metrics.Pods, pod)
		switch {
		case err == nil:
			p.Metrics.Pods.DrainedTotal.WithLabelValues(string(status.ReasonUnhealthy)).Inc()
			p.Events.Publish(telemetry.Event{
				Object: pod, Type: corev1.EventTypeNormal, Reason: telemetry.EventEvicted,
				Message: fmt.Sprintf("Evicted pod: node %s is being rebooted", p.node.Name),
			})
		case eviction.Refused(err):
			held++
			first = cmp.Or(first, fmt.Sprintf("%s/%s: %s", pod.Namespace, pod.Name, eviction.Refusal(pod, err)))
		case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInternalError(err):
		default:
			errs = append(errs, fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
	}
	if held > 0 {
		p.Events.Publish(telemetry.Event{
			Object: p.node, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedDraining,
			Message: fmt.Sprintf("The reboot waits for the eviction of %s, such as %s", units.Counted(held, "pod"), first),
		})
	}
	return errors.Join(errs...)
}
