package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// refused applies to a pool that the server refuses what rules can still be applied, so that one look finds all: what is
// refused is taken out first, and what rests on it is left alone.
func (l *linter) refused(o *object, errs field.ErrorList) {
	if o.content.GetKind() != "NodePool" {
		return
	}
	content := o.content.DeepCopy()
	delete(content.Object, "status")
	touched := func(path string) bool {
		return slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Field, path) })
	}
	for _, e := range errs {
		if !strings.Contains(e.Field, "[") {
			remove(content.Object, strings.Split(e.Field, "."))
		}
	}
	np := &apiv1.NodePool{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, np) != nil {
		return
	}
	for i, r := range np.Spec.Template.Spec.Requirements {
		at := fmt.Sprintf("%s[%d]", requirements, i)
		if touched(at) {
			continue
		}
		l.key(o, at+".key", r.Key)
		for j, v := range r.Values {
			if key := l.rules.Canonical(r.Key); closed[key] != nil && r.Operator != corev1.NodeSelectorOpExists {
				l.value(o, l.options.Region, fmt.Sprintf("%s.values[%d]", at, j), key, v, nil)
			}
		}
	}
	l.nodeClass(o, np.Spec.Template.Spec.NodeClassRef)
	if !touched("spec.disruption.budgets") {
		l.budgets(&pool{object: o, pool: np})
	}
	if !touched("spec.limits") {
		l.limits(o, np)
	}
}

// remove takes a field out of an object, if it is there.
func remove(object map[string]any, path []string) {
	for len(path) > 1 {
		inside, ok := object[path[0]].(map[string]any)
		if !ok {
			return
		}
		object, path = inside, path[1:]
	}
	delete(object, path[0])
}

// inDays matches a duration that is written in days.
var inDays = regexp.MustCompile(`^([0-9]{1,4})d$`)

// moved are fields of v1beta1 that people write into v1, and where they are now.
var moved = map[string]string{
	"spec.disruption.expireAfter":                "move it to spec.template.spec.expireAfter",
	"spec.template.spec.kubelet":                 "move it to spec.kubelet of the EC2NodeClass",
	"spec.template.spec.nodeClassRef.apiVersion": "write group: karpenter.k8s.aws instead",
	"spec.template.spec.nodeClassRef.group":      "add group: karpenter.k8s.aws",
	"spec.limits.resources":                      "write the limits directly below spec.limits",
	"spec.disruption.consolidationPolicy":        "WhenUnderutilized is called WhenEmptyOrUnderutilized in v1",
	"spec.amiSelectorTerms":                      "add amiSelectorTerms, for example [{alias: al2023@latest}]",
	"spec.template.spec.nodeClassRef":            "add group, kind and name of the node class",
	"spec.requirements":                          "move it to spec.template.spec.requirements",
	"spec.template.spec.requirements":            "add requirements; an empty list allows every type",
}

// fix tells what to do about a refusal.
func (l *linter) fix(o *object, e *field.Error) string {
	if fix, ok := moved[e.Field]; ok {
		return fix
	}
	if strings.HasSuffix(e.Field, ".key") {
		if key, ok := o.value(e.Field); ok {
			if near := nearest(key, l.rules.WellKnown.UnsortedList(), 3); near != "" {
				return "write " + near
			}
		}
	}
	if days := inDays.FindStringSubmatch(fmt.Sprint(e.BadValue)); days != nil {
		if n, err := strconv.Atoi(days[1]); err == nil {
			return fmt.Sprintf("write %dh: durations have h, m and s, and no days", 24*n)
		}
	}
	if strings.HasSuffix(e.Field, ".schedule") {
		return "write minute, hour, day of month, month and day of week, in UTC, or one of @hourly, @daily, @weekly, @monthly and @yearly"
	}
	if strings.Contains(e.Detail, "unknown field") {
		return "remove the field or correct its name; kubectl explain lists the fields, and if the manifest was written for" +
			" v1beta1, say so in apiVersion and run karpenter convert"
	}
	return "change the value as the message says; kubectl explain describes the field"
}
