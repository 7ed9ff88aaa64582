package lint

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// budgetOfPods reports a PodDisruptionBudget that never allows an eviction. The drain of a node with such pods ends
// only after terminationGracePeriod. If that is not set, the drain never ends.
func (l *linter) budgetOfPods(o *object) {
	pdb := &policyv1.PodDisruptionBudget{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.content.Object, pdb) != nil {
		return
	}
	const fix = "allow at least one eviction (maxUnavailable: 1), or set spec.template.spec.terminationGracePeriod in the NodePool" +
		" to bound the duration of drains"
	if v := pdb.Spec.MaxUnavailable; v != nil && none(v) {
		l.at(o, "pdb-blocks-eviction", "spec.maxUnavailable", fix, "maxUnavailable: %s blocks every eviction", v)
	}
	v := pdb.Spec.MinAvailable
	if v == nil {
		return
	}
	if v.Type == intstr.String && v.StrVal == "100%" {
		l.at(o, "pdb-blocks-eviction", "spec.minAvailable", fix, "minAvailable: 100%% blocks every eviction")
		return
	}
	if v.Type != intstr.Int || pdb.Spec.Selector == nil {
		return
	}
	if w, replicas := l.guarded(pdb); w != nil && replicas > 0 && int64(v.IntVal) >= replicas {
		l.at(o, "pdb-blocks-eviction", "spec.minAvailable", fix, "minAvailable: %d blocks every eviction: %s has %s",
			v.IntVal, w.label(), replicaCount(replicas))
	}
}

func replicaCount(n int64) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// guards reports a workload whose pods more than one PodDisruptionBudget selects, since the API server then rejects
// every eviction.
func (l *linter) guards(o *object, template []string) {
	have, _, err := unstructured.NestedStringMap(o.content.Object, append(slices.Clone(template), "metadata", "labels")...)
	if err != nil || len(have) == 0 {
		return
	}
	var names []string
	for _, other := range l.objects {
		pdb := &policyv1.PodDisruptionBudget{}
		if other.content.GetKind() != "PodDisruptionBudget" || other.content.GetNamespace() != o.content.GetNamespace() ||
			runtime.DefaultUnstructuredConverter.FromUnstructured(other.content.Object, pdb) != nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err == nil && selector.Matches(labels.Set(have)) {
			names = append(names, pdb.Name)
		}
	}
	if len(names) > 1 {
		l.at(o, "pdb-blocks-eviction", strings.Join(append(slices.Clone(template), "metadata", "labels"), "."),
			"keep one PodDisruptionBudget for these pods", "PodDisruptionBudgets %s select the same pods: the API server rejects every eviction",
			strings.Join(names, " and "))
	}
}

// none reports whether v is 0 or 0%.
func none(v *intstr.IntOrString) bool {
	return v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && (v.StrVal == "0%" || v.StrVal == "0")
}

// guarded returns the workload in the files whose pods the PodDisruptionBudget selects, and its replicas. It returns
// nil unless there is exactly one.
func (l *linter) guarded(pdb *policyv1.PodDisruptionBudget) (*object, int64) {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil {
		return nil, 0
	}
	var found *object
	var replicas int64
	for _, o := range l.objects {
		kind := o.content.GetKind()
		if kind != "Deployment" && kind != "StatefulSet" && kind != "ReplicaSet" || o.content.GetNamespace() != pdb.Namespace {
			continue
		}
		have, _, err := unstructured.NestedStringMap(o.content.Object, "spec", "template", "metadata", "labels")
		if err != nil || !selector.Matches(labels.Set(have)) {
			continue
		}
		if found != nil {
			return nil, 0
		}
		n, ok, err := unstructured.NestedInt64(o.content.Object, "spec", "replicas")
		if err != nil {
			return nil, 0
		}
		if !ok {
			n = 1
		}
		found, replicas = o, n
	}
	return found, replicas
}
