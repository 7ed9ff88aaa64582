package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// itemField returns the path of a field of a list item.
func itemField(list string, i int, name string) string {
	return fmt.Sprintf("%s[%d].%s", list, i, name)
}

// templates are the paths of the pod templates of workloads, by kind.
var templates = map[string][]string{
	"Pod": nil, "Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "ReplicaSet": {"spec", "template"},
	"DaemonSet": {"spec", "template"}, "Job": {"spec", "template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// workload applies the rules for workloads and PodDisruptionBudgets.
func (l *linter) workload(o *object) error {
	if o.content.GetKind() == "PodDisruptionBudget" {
		l.budgetOfPods(o)
		return nil
	}
	path, ok := templates[o.content.GetKind()]
	if !ok {
		return nil
	}
	l.guards(o, path)
	l.leftOver(o, path)
	spec, path := podSpec(o, path)
	if spec == nil {
		return nil
	}
	at := strings.Join(path, ".")
	for i, c := range spec.TopologySpreadConstraints {
		l.key(o, fmt.Sprintf("%s.topologySpreadConstraints[%d].topologyKey", at, i), c.TopologyKey)
	}
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		field := at + ".nodeSelector." + key
		l.key(o, field, key)
		if err := l.wanted(o, field, key, spec.NodeSelector[key]); err != nil {
			return err
		}
	}
	return l.affinity(o, at, spec.Affinity)
}

// affinity applies the rules for labels to a required node affinity.
func (l *linter) affinity(o *object, at string, a *corev1.Affinity) error {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	at += ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	for i, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for j, e := range term.MatchExpressions {
			field := fmt.Sprintf("%s[%d].matchExpressions[%d]", at, i, j)
			l.key(o, field+".key", e.Key)
			if e.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			for k, v := range e.Values {
				if err := l.wanted(o, fmt.Sprintf("%s.values[%d]", field, k), e.Key, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// wanted reports label values that pods require and no node can have, and NodePools that are not among the files.
func (l *linter) wanted(o *object, field, key, v string) error {
	key = l.rules.Canonical(key)
	if key == apiv1.NodePoolLabelKey {
		if len(l.names["NodePool"]) > 0 && !l.names["NodePool"][v] {
			l.at(o, "missing-pool", field, "add the NodePool to the files, or correct the name", "NodePool %s is not among the files,"+
				" although other NodePools are", v)
		}
		return nil
	}
	// The region is not known here, since workloads do not name one, so zones are not checked. Only zone IDs in place of
	// zone names are reported.
	elsewhere := strings.HasPrefix(key, "topology.") && (key != corev1.LabelTopologyZone || !zoneID.MatchString(v))
	if !l.rules.WellKnown.Has(key) || elsewhere || l.options.Types == nil {
		return nil
	}
	if l.have == nil {
		all, err := l.typesOf(l.options.Region, nil)
		if err != nil {
			return err
		}
		l.have = valuesOf(all)
	}
	l.value(o, l.options.Region, field, key, v, l.have[key])
	return nil
}

// leftOver reports pods that have the annotation of Cluster Autoscaler against eviction, but not the one of Karpenter.
func (l *linter) leftOver(o *object, template []string) {
	const theirs, ours = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"
	path := append(slices.Clone(template), "metadata", "annotations")
	have, _, err := unstructured.NestedStringMap(o.content.Object, path...)
	if err == nil && have[theirs] == "false" && have[ours] == "" {
		l.at(o, "legacy-label", strings.Join(path, ".")+"."+theirs, `add `+ours+`: "true"`, "%s blocks eviction by Cluster Autoscaler, but not"+
			" by Karpenter", theirs)
	}
}

// podSpec returns the PodSpec of a workload and its path, nil if there is none.
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
