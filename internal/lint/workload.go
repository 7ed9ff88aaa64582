package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// itemField names a field of an item of a list.
func itemField(list string, i int, name string) string {
	return fmt.Sprintf("%s[%d].%s", list, i, name)
}

// templates are where the pods of workloads are described.
var templates = map[string][]string{
	"Pod": nil, "Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "ReplicaSet": {"spec", "template"},
	"DaemonSet": {"spec", "template"}, "Job": {"spec", "template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// workload applies the rules about pods and what disrupts them.
func (l *linter) workload(o *object) {
	if o.content.GetKind() == "PodDisruptionBudget" {
		l.budgetOfPods(o)
		return
	}
	path, ok := templates[o.content.GetKind()]
	if !ok {
		return
	}
	spec, path := podSpec(o, path)
	if spec == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		l.key(o, strings.Join(append(path, "nodeSelector"), ".")+"."+key, key)
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	at := strings.Join(append(path, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"), ".")
	for i, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for j, e := range term.MatchExpressions {
			l.key(o, fmt.Sprintf("%s[%d].matchExpressions[%d].key", at, i, j), e.Key)
		}
	}
}

// podSpec returns the description of a workload's pods and its path, nil if there is none.
func podSpec(o *object, template []string) (*corev1.PodSpec, []string) {
	path := append(slices.Clone(template), "spec")
	content, ok, err := unstructured.NestedMap(o.content.Object, path...)
	if err != nil || !ok {
		return nil, nil
	}
	spec := &corev1.PodSpec{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, spec) != nil {
		return nil, nil
	}
	return spec, path
}

// budgetOfPods finds disruption budgets that never allow an eviction: nodes with such pods stay until their grace period
// ends, or for ever.
func (l *linter) budgetOfPods(o *object) {
	pdb := &policyv1.PodDisruptionBudget{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.content.Object, pdb) != nil {
		return
	}
	const fix = "allow at least one pod to go (maxUnavailable: 1), or set terminationGracePeriod in the NodePool so that" +
		" drains end some day"
	if v := pdb.Spec.MaxUnavailable; v != nil && none(v) {
		l.at(o, "pdb-blocks-for-ever", "spec.maxUnavailable", fix, "maxUnavailable %s never lets a pod be evicted", v)
	}
	v := pdb.Spec.MinAvailable
	if v == nil {
		return
	}
	if v.Type == intstr.String && v.StrVal == "100%" {
		l.at(o, "pdb-blocks-for-ever", "spec.minAvailable", fix, "minAvailable 100%% never lets a pod be evicted")
		return
	}
	if v.Type != intstr.Int || pdb.Spec.Selector == nil {
		return
	}
	if w, replicas := l.guarded(pdb); w != nil && replicas > 0 && int64(v.IntVal) >= replicas {
		l.at(o, "pdb-blocks-for-ever", "spec.minAvailable", fix, "minAvailable %d never lets a pod of %s be evicted, which has %d"+
			" replicas", v.IntVal, w.label(), replicas)
	}
}

// none reports whether a value allows no pod.
func none(v *intstr.IntOrString) bool {
	return v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && (v.StrVal == "0%" || v.StrVal == "0")
}

// guarded returns the one workload among the files that a budget is for, and its replicas; nil if there is not just one.
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
