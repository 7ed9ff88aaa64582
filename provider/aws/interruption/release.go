package interruption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// workers is how many claims are let go at once.
const workers = 10

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// Shortages learn where there is no capacity any more.
type Shortages interface {
	MarkOffering(instanceType, zone, capacityType, group string)
}

// Reserved learns which reservation holds nothing any more.
type Reserved interface{ Full(id string) }

// A Releaser lets go of claims whose instances are going or are no good.
type Releaser struct {
	Client    client.Client
	Clock     clock.PassiveClock
	Recorder  Recorder
	Shortages Shortages
	Reserved  Reserved
	Meter     *Meter
	// Disrupted counts a claim that is deleted for the reason.
	Disrupted func(claim *apiv1.NodeClaim, reason string)
}

// A notice says what is the matter with one instance.
type notice struct {
	instance string
	kind     Kind
	time     time.Time
}

// urgency orders kinds: of several notices about one instance the most urgent one counts.
func (k Kind) urgency() int {
	return slices.Index([]Kind{
		NoOp, Rebalance, ScheduledEventPending, ScheduledChange, InstanceStopped, InstanceTerminated, ReservationReclaimed,
		SpotInterrupted, InstanceStatusFailed, SystemStatusFailed,
	}, k)
}

// release deals with each instance once. It returns the instances for which that failed, to be tried again; the error means
// that nothing could be done at all.
func (r *Releaser) release(ctx context.Context, notices []notice) (failed map[string]bool, err error) {
	worst := map[string]notice{}
	for _, n := range notices {
		if old, known := worst[n.instance]; !known || n.kind.urgency() > old.kind.urgency() {
			worst[n.instance] = n
		}
	}
	if len(worst) == 0 {
		return nil, nil
	}
	claims, err := r.claims(ctx, worst)
	if err != nil || len(claims) == 0 {
		return nil, err
	}
	nodes, err := r.nodes(ctx, claims)
	if err != nil {
		return nil, err
	}
	failed = map[string]bool{}
	var mu sync.Mutex // guards failed
	var group errgroup.Group
	group.SetLimit(workers)
	for _, claim := range claims {
		_, id, _ := instances.ParseProviderID(claim.Status.ProviderID)
		group.Go(func() error {
			if err := r.one(ctx, claim, nodes[claim.Status.ProviderID], worst[id]); err != nil {
				log.FromContext(ctx).Error(err, "cannot let a claim go now", "NodeClaim", claim.Name, "message", worst[id].kind)
				mu.Lock()
				defer mu.Unlock()
				failed[id] = true
			}
			return nil
		})
	}
	return failed, group.Wait()
}

// claims returns the claims of the instances, by name.
func (r *Releaser) claims(ctx context.Context, of map[string]notice) ([]*apiv1.NodeClaim, error) {
	var list apiv1.NodeClaimList
	if err := r.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	var out []*apiv1.NodeClaim
	for i := range list.Items {
		c := &list.Items[i]
		if c.Spec.NodeClassRef == nil || c.Spec.NodeClassRef.Group != awsv1.Group {
			continue
		}
		if _, id, ok := instances.ParseProviderID(c.Status.ProviderID); ok {
			if _, wanted := of[id]; wanted {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b *apiv1.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// nodes returns the nodes of the claims by provider id.
func (r *Releaser) nodes(ctx context.Context, claims []*apiv1.NodeClaim) (map[string]*corev1.Node, error) {
	wanted := map[string]bool{}
	for _, c := range claims {
		wanted[c.Status.ProviderID] = true
	}
	var list corev1.NodeList
	if err := r.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	out := map[string]*corev1.Node{}
	for i := range list.Items {
		if id := list.Items[i].Spec.ProviderID; wanted[id] {
			out[id] = &list.Items[i]
		}
	}
	return out, nil
}

// one tells what has happened and, unless that asks for nothing, lets the claim go and keeps new pods off the node.
func (r *Releaser) one(ctx context.Context, claim *apiv1.NodeClaim, node *corev1.Node, n notice) error {
	if !claim.DeletionTimestamp.IsZero() {
		return nil // it is on its way out, for whatever reason
	}
	r.learn(claim, n.kind)
	r.tell(claim, node, n.kind)
	if n.kind == Rebalance || n.kind == NoOp {
		return nil
	}
	if forceful(n.kind) {
		if err := r.hurry(ctx, claim); err != nil {
			return err
		}
	}
	if err := r.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("delete claim %s: %w", claim.Name, err)
	}
	r.Disrupted(claim, string(n.kind))
	r.Meter.await(claim, n, r.Clock.Now())
	log.FromContext(ctx).Info("letting a claim go", "NodeClaim", claim.Name, "instance", n.instance, "message", n.kind)
	both(r.Recorder, claim, node, corev1.EventTypeWarning, telemetry.EventTerminatingOnInterruption,
		"the claim is deleted because of an interruption: "+strings.ReplaceAll(string(n.kind), "_", " "))
	return r.cordon(ctx, node, n)
}

// forceful reports whether nothing on the node can be trusted to end in an orderly way.
func forceful(k Kind) bool { return k == InstanceStatusFailed || k == SystemStatusFailed }

// hurry makes the claim end now, whatever runs on it.
func (r *Releaser) hurry(ctx context.Context, claim *apiv1.NodeClaim) error {
	if claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] != "" {
		return nil
	}
	before := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, apiv1.NodeClaimTerminationTimestampAnnotationKey,
		r.Clock.Now().UTC().Format(time.RFC3339))
	if err := r.Client.Patch(ctx, claim, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotate claim %s: %w", claim.Name, err)
	}
	return nil
}

// cordon keeps new pods off the node at once; its drain begins when the deletion of the claim has been seen.
func (r *Releaser) cordon(ctx context.Context, node *corev1.Node, n notice) error {
	taint := corev1.Taint{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
	if node == nil || slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		return nil
	}
	before := node.DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, taint)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, node, patch); err != nil {
		// The node's own controller does it too: the claim is gone for good already.
		log.FromContext(ctx).V(1).Info("leaving the cordon to the drain", "Node", node.Name, "error", err.Error())
		return nil
	}
	r.Meter.cordoned(n, r.Clock.Now())
	return nil
}

// learn keeps launches away from where capacity was just taken back.
func (r *Releaser) learn(claim *apiv1.NodeClaim, k Kind) {
	l := claim.Labels
	switch k {
	case SpotInterrupted:
		r.Shortages.MarkOffering(l[corev1.LabelInstanceTypeStable], l[corev1.LabelTopologyZone], apiv1.CapacityTypeSpot, "")
	case ReservationReclaimed:
		if id := l[awsv1.LabelCapacityReservationID]; id != "" {
			r.Reserved.Full(id)
		}
	}
}

// tell publishes what has happened to the instance.
func (r *Releaser) tell(claim *apiv1.NodeClaim, node *corev1.Node, k Kind) {
	kind, reason, message := corev1.EventTypeWarning, telemetry.EventInstanceUnhealthy, ""
	switch k {
	case SpotInterrupted:
		reason, message = telemetry.EventSpotInterrupted, "EC2 takes the spot instance back in two minutes"
	case Rebalance:
		kind, reason = corev1.EventTypeNormal, telemetry.EventSpotRebalanceRecommendation
		message = "EC2 says that the spot instance is likely to be interrupted"
	case ReservationReclaimed:
		reason, message = telemetry.EventCapacityReservationInterrupted, "EC2 takes the reserved capacity back"
	case InstanceStopped:
		reason, message = telemetry.EventInstanceStopping, "the instance is being stopped"
	case InstanceTerminated:
		reason, message = telemetry.EventInstanceTerminating, "the instance is being ended"
	case ScheduledChange, ScheduledEventPending:
		message = "EC2 has scheduled maintenance of the instance, or its retirement"
	case InstanceStatusFailed:
		message = "the instance fails EC2's status check"
	case SystemStatusFailed:
		message = "the host of the instance fails EC2's status check"
	default:
		return
	}
	both(r.Recorder, claim, node, kind, reason, message)
}

// both publishes an event on the claim and, if there is one, on its node.
func both(r Recorder, claim *apiv1.NodeClaim, node *corev1.Node, kind, reason, message string) {
	r.Event(claim, kind, reason, message)
	if node != nil {
		r.Event(node, kind, reason, message)
	}
}
