package lifecycle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// initialize sets the condition Initialized once the node is ready. It deletes the claim at InitializationTimeoutAt if
// the node runs no pods. A node that runs pods is removed only by repair or expiry.
func initialize(v View) (j Judgement) {
	reason, message := unready(v)
	if reason != "" {
		j.waits(apiv1.ConditionTypeInitialized, reason, message)
		j.abandon(v)
		return j
	}
	action := Initialize{Node: v.Nodes[0].Name, Labels: map[string]string{apiv1.NodeInitializedLabelKey: "true"}}
	if awaitsTurn(v.Claim) {
		action.AddTaints = []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()}
	}
	j.do(action)
	j.holds(apiv1.ConditionTypeInitialized)
	return j
}

// abandon deletes the claim if InitializationTimeout has passed and its node runs no pods. Otherwise it sets Requeue to the
// remaining time, or to recheckPods if pods may run there.
func (j *Judgement) abandon(v View) {
	left := InitializationTimeoutAt(v.Claim).Sub(v.Now)
	switch {
	case left > 0:
		j.Requeue = left
	case len(v.Nodes) > 1 || slices.ContainsFunc(v.Pods, occupies):
		j.Requeue = recheckPods
	default:
		j.do(Delete{DeleteInitializationTimeout})
	}
}

// repairedWithin is the time after a failed reboot in which repair replaces a node that still fails, see repair.Decide.
const repairedWithin = 24 * time.Hour

// recheckPods is the interval between checks of a node that is not initialized in time but runs pods.
const recheckPods = 10 * time.Minute

// InitializationTimeoutAt returns when a registered claim is deleted if its node is not initialized and runs no pods. The
// timeout begins again when a reboot of the node has succeeded, because the node must then be initialized again. After a
// failed reboot it is a day instead of an hour: repair replaces the node meanwhile, if it still fails.
func InitializationTimeoutAt(claim *apiv1.NodeClaim) time.Time {
	begins := condition.Get(claim, apiv1.ConditionTypeRegistered).LastTransitionTime.Time
	r := condition.Get(claim, apiv1.ConditionTypeRebooting)
	switch {
	case r == nil || r.Status != metav1.ConditionFalse:
	case r.Reason == apiv1.ReasonRebootFailed:
		return r.LastTransitionTime.Add(repairedWithin)
	default:
		begins = model.Later(begins, r.LastTransitionTime.Time)
	}
	return begins.Add(InitializationTimeout)
}

// occupies reports whether the pod prevents the deletion of its node by abandon. The pod has not completed, and is
// neither a DaemonSet pod nor a static pod.
func occupies(pod *corev1.Pod) bool {
	p := model.Pod{Object: pod}
	return !p.Terminal() && !p.Daemon() && !p.Mirror()
}

// awaitsTurn reports whether the claim is a replacement of a command whose pods move to several destinations, stage by stage.
// Its node is then reserved. DaemonSet pods run there already, so the taint excludes only other pods.
func awaitsTurn(claim *apiv1.NodeClaim) bool {
	return claim.Annotations[apiv1.MoveStageAnnotationKey] != "" && claim.Annotations[apiv1.ReplacesAnnotationKey] != ""
}

// Apply makes the changes of i to the node. It is idempotent, because the node may come from a stale cache.
func (i Initialize) Apply(node *corev1.Node) {
	node.Labels = overlay(node.Labels, i.Labels)
	node.Spec.Taints = append(node.Spec.Taints, missingTaints(node.Spec.Taints, i.AddTaints)...)
}

// unready returns the first reason why the node cannot be initialized yet, empty if there is none.
func unready(v View) (reason, message string) {
	if len(v.Nodes) != 1 {
		return ReasonNodeNotFound, fmt.Sprintf("%d Nodes have spec.providerID %q, exactly one is required",
			len(v.Nodes), v.Claim.Status.ProviderID)
	}
	node := v.Nodes[0]
	if status := model.Readiness(node); status != corev1.ConditionTrue {
		return ReasonNodeNotReady, fmt.Sprintf("Node %s is not ready: condition Ready is %s", node.Name, status)
	}
	for _, t := range v.Claim.Spec.StartupTaints {
		if model.HasTaint(node.Spec.Taints, t) {
			return ReasonStartupTaintsExist, fmt.Sprintf("Startup taint %s still present on node %s: the component that owns it must remove it", t.ToString(), node.Name)
		}
	}
	for _, t := range node.Spec.Taints {
		if apiv1.IsEphemeralTaint(t) {
			return ReasonKnownEphemeralTaintsExist, fmt.Sprintf("Taint %s still present on node %s: Kubernetes removes it when the node is ready", t.ToString(), node.Name)
		}
	}
	if name := unregisteredResource(v.Claim, node); name != "" {
		return ReasonResourceNotRegistered, fmt.Sprintf("Resource %s not registered on node %s: check its device plugin", name, node.Name)
	}
	if driver := unpublishedDriver(v); driver != "" {
		return ReasonDRADriverPoolsNotPublished,
			fmt.Sprintf("DRA driver %s has not published all ResourceSlices for node %s", driver, node.Name)
	}
	return "", ""
}

// unregisteredResource returns the first requested resource of which the node has nothing allocatable, empty if there is none.
// An example is a GPU whose device plugin has not started.
func unregisteredResource(claim *apiv1.NodeClaim, node *corev1.Node) corev1.ResourceName {
	requests := model.RequestsOf(claim.Spec.Resources.Requests)
	for _, name := range requests.Names() {
		have := node.Status.Allocatable[name]
		if requests[name] > 0 && have.IsZero() {
			return name
		}
	}
	return ""
}

// consistentPercent is the least share of the promised capacity that a node must report.
const consistentPercent = 90

// Shortfall returns one sentence for each requested resource of which the node reports less than 90 % of the capacity
// in the claim's status.
func Shortfall(claim *apiv1.NodeClaim, node *corev1.Node) []string {
	var list []string
	promised, reported := model.CapacityOf(claim.Status.Capacity), model.CapacityOf(node.Status.Capacity)
	for _, name := range model.RequestsOf(claim.Spec.Resources.Requests).Names() {
		want, have := claim.Status.Capacity[name], node.Status.Capacity[name]
		share := have.AsApproximateFloat64() * 100 / want.AsApproximateFloat64()
		if want.IsZero() || share >= consistentPercent {
			continue
		}
		list = append(list, fmt.Sprintf("Expected %s of resource %s, but node %s reports %s (%.0f%%, at least %d%% required)",
			units.Amount(name, promised[name], units.Down), name, node.Name, units.Amount(name, reported[name], units.Down),
			math.Floor(share), consistentPercent))
	}
	return list
}

// unpublishedDriver returns the first DRA driver that the claim's pods need and that has not published a complete pool
// of devices on the node, empty if there is none.
func unpublishedDriver(v View) string {
	if !v.DRA {
		return ""
	}
	for driver := range strings.SplitSeq(v.Claim.Annotations[apiv1.RequestedDRADriversAnnotationKey], ",") {
		driver = strings.TrimSpace(driver)
		if driver != "" && !published(driver, v.Slices) {
			return driver
		}
	}
	return ""
}

// published reports whether at least one resource pool of the driver is complete: the slices of its newest generation
// are as many as its ResourceSliceCount.
func published(driver string, slices []*resourcev1.ResourceSlice) bool {
	newest := map[string]int64{}
	for _, s := range slices {
		if s.Spec.Driver == driver {
			newest[s.Spec.Pool.Name] = max(newest[s.Spec.Pool.Name], s.Spec.Pool.Generation)
		}
	}
	seen := map[string]int64{}
	for _, s := range slices {
		pool := s.Spec.Pool
		if s.Spec.Driver != driver || pool.Generation != newest[pool.Name] {
			continue
		}
		seen[pool.Name]++
		if seen[pool.Name] >= pool.ResourceSliceCount {
			return true
		}
	}
	return false
}
