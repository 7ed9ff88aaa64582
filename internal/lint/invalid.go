package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// others returns the errors in more that are not in errs, without those that result from the removal of the fields in
// errs.
func others(more, errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(more), func(e *field.Error) bool {
		return slices.ContainsFunc(errs, func(known *field.Error) bool {
			_, name, _ := cutLast(known.Field)
			return e.Field == known.Field || strings.HasPrefix(e.Field, known.Field+".") ||
				strings.HasPrefix(known.Field, e.Field) && strings.Contains(e.Detail, name)
		})
	})
}

// cutLast cuts a path at its last dot.
func cutLast(path string) (before, after string, found bool) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:], i >= 0
}

// checkRest applies those rules for NodePools that do not depend on the invalid fields of o. content is o without these
// fields. It does nothing if o is not a NodePool.
func (l *linter) checkRest(o *object, content *unstructured.Unstructured, errs field.ErrorList) {
	if o.content.GetKind() != "NodePool" {
		return
	}
	touched := func(path string) bool {
		return slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Field, path) })
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

// remove deletes the fields that errs name from an object. It does not delete items of lists, so that the indexes of
// other items do not change.
func remove(object map[string]any, errs field.ErrorList) {
	for _, e := range errs {
		path, last, _ := cutLast(e.Field)
		if inside, ok := inside(object, path).(map[string]any); ok {
			delete(inside, last)
		}
	}
}

// step matches one step of a path: a name and indexes of list items.
var step = regexp.MustCompile(`^([^.\[]*)((?:\[[0-9]+\])*)\.?`)

// inside returns the value at a path such as spec.budgets[0], nil if there is none.
func inside(v any, path string) any {
	for path != "" {
		m := step.FindStringSubmatch(path)
		if m == nil || m[0] == "" {
			return nil
		}
		path = path[len(m[0]):]
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[m[1]]
		for place := range strings.SplitSeq(strings.Trim(m[2], "[]"), "][") {
			list, ok := v.([]any)
			if place == "" {
				break
			}
			i, err := strconv.Atoi(place)
			if !ok || err != nil || i >= len(list) {
				return nil
			}
			v = list[i]
		}
	}
	return v
}

// inDays matches a duration in days.
var inDays = regexp.MustCompile(`^([0-9]{1,4})d$`)

// moved has the fixes for fields of v1beta1 that were moved or replaced in v1.
var moved = map[string]string{
	"spec.disruption.expireAfter":                "move it to spec.template.spec.expireAfter",
	"spec.template.spec.kubelet":                 "move it to spec.kubelet of the EC2NodeClass",
	"spec.template.spec.nodeClassRef.apiVersion": "replace it by group: karpenter.k8s.aws",
	"spec.template.spec.nodeClassRef.group":      "add group: karpenter.k8s.aws",
	"spec.limits.resources":                      "move the limits directly below spec.limits",
	"spec.disruption.consolidationPolicy":        "use WhenEmptyOrUnderutilized, the name of WhenUnderutilized in v1",
	"spec.amiSelectorTerms":                      "add amiSelectorTerms, for example [{alias: al2023@latest}]",
	"spec.template.spec.nodeClassRef":            "add group, kind and name of the node class",
	"spec.requirements":                          "move it to spec.template.spec.requirements",
	"spec.template.spec.requirements":            "add requirements; an empty list allows every type",
}

// problem returns the message of a validation error, without its field.
func problem(e *field.Error) string {
	switch {
	case e.Detail == "unknown field":
		return "unknown field"
	case e.Type == field.ErrorTypeRequired && e.Detail == "":
		return "required field is not set"
	}
	return e.ErrorBody()
}

// fix returns how to correct a validation error.
func (l *linter) fix(o *object, e *field.Error) string {
	if fix, ok := moved[e.Field]; ok {
		return fix
	}
	if strings.HasSuffix(e.Field, ".key") {
		if key, ok := o.value(e.Field); ok {
			if near := nearest(key, l.rules.WellKnown.UnsortedList(), 3); near != "" {
				return "change the key to " + near
			}
		}
	}
	if days := inDays.FindStringSubmatch(fmt.Sprint(e.BadValue)); days != nil {
		if n, err := strconv.Atoi(days[1]); err == nil {
			return fmt.Sprintf("write %dh: durations use the units h, m and s", 24*n)
		}
	}
	if strings.HasSuffix(e.Field, ".schedule") {
		return "write minute, hour, day of month, month and day of week, in UTC, or one of @hourly, @daily, @weekly, @monthly and @yearly"
	}
	if strings.Contains(e.Detail, "must be of type string") {
		return `quote the value; a quantity needs its unit, for example "100Gi"`
	}
	if strings.Contains(e.Detail, "unknown field") {
		above, _, _ := cutLast(e.Field)
		return "remove the field or correct its name, see " + explain(o, above) + "; if the manifest was written for v1beta1, set" +
			" that apiVersion and run karpenter convert"
	}
	return "change the value as the message says, see " + explain(o, e.Field)
}

// itemIndex matches the index of a list item in a path.
var itemIndex = regexp.MustCompile(`\[[0-9]+\]`)

// explain returns the command that describes a field.
func explain(o *object, path string) string {
	path = itemIndex.ReplaceAllString(path, "")
	if i := strings.IndexByte(path, '['); i >= 0 {
		path = path[:i]
	}
	return "kubectl explain " + strings.TrimSuffix(strings.ToLower(o.content.GetKind())+"."+path, ".")
}
