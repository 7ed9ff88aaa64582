package offline

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// addPods adds the pods of the input and those that workloads lack. Pods without a node are pending. Finished pods
// and those on nodes that are not in the input are left out.
func (a *assembly) addPods() {
	given := manifest.Of[*corev1.Pod](a.set)
	for _, p := range given {
		for _, f := range faults(&p.Spec, "spec") {
			a.errs = append(a.errs, a.set.Error(p, "Pod", f[0], f[1]))
		}
		a.limits.admit(&p.Spec, p.Namespace)
	}
	elsewhere := 0
	for _, p := range append(given, a.expand(given)...) {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		switch {
		case ended:
			continue
		case p.Spec.NodeName == "":
			a.wait(p)
		case a.nodes[p.Spec.NodeName] == nil:
			elsewhere++
			continue
		case p.Status.Phase == "":
			p.Status.Phase = corev1.PodRunning
		}
		if p.UID == "" {
			p.UID = types.UID(p.Namespace + "/" + p.Name)
		}
		a.Delta.Pods = append(a.Delta.Pods, p)
	}
	if n := a.optingOut(); n > 0 {
		a.warn("left out %s with required node affinity %s DoesNotExist: Karpenter launches no nodes for them", units.Counted(n, "pod"),
			apiv1.NodePoolLabelKey)
	}
	if elsewhere > 0 {
		a.warn("left out %s of nodes that are not in the input", units.Counted(elsewhere, "pod"))
	}
	for _, name := range slices.Sorted(maps.Keys(a.limits.unknown)) {
		a.warn("%s is not in the input: %s", name, a.limits.unknown[name])
	}
}

// optingOut returns how many pods are not planned because they exclude nodes of NodePools.
func (a *assembly) optingOut() int {
	n := 0
	for _, p := range a.Delta.Pods {
		if p.Spec.NodeName == "" && (&model.Pod{Object: p}).OptsOut() {
			n++
		}
	}
	return n
}

// wait sets the status that kube-scheduler writes to an unschedulable pod. A pod with scheduling gates is not
// planned.
func (a *assembly) wait(p *corev1.Pod) {
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		LastTransitionTime: metav1.NewTime(a.Now),
	}}
	if gates := p.Spec.SchedulingGates; len(gates) > 0 {
		names := make([]string, len(gates))
		for i, g := range gates {
			names[i] = strconv.Quote(g.Name)
		}
		a.Leave[p.Namespace+"/"+p.Name] = model.Verdict{Rule: model.RuleInvalid, Cause: model.CauseGate,
			Subject: "not planned: " + set(names), Hint: "remove the entry from spec.schedulingGates when the pod may start"}
	}
}

// set returns a text about the scheduling gates that are set.
func set(gates []string) string {
	if len(gates) == 1 {
		return "scheduling gate " + gates[0] + " is set"
	}
	return "scheduling gates " + strings.Join(gates, ", ") + " are set"
}
