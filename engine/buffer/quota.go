package buffer

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Quotas are what limits all buffers of one namespace together: its ResourceQuotas, and the bound of mostPods. They include
// the amounts that buffers have used so far. The status of a ResourceQuota counts only real pods, because a buffer must not
// exclude real pods. The buffers share the remaining amounts, in the order of the calls of Give.
type Quotas struct {
	quotas []*corev1.ResourceQuota
	// given are the amounts that earlier buffers have used of each quota.
	given []model.Resources
	// pods is the number of pods of earlier buffers.
	pods int32
}

// NewQuotas returns the limits of a namespace with these ResourceQuotas before any buffer has used them.
func NewQuotas(quotas []*corev1.ResourceQuota) *Quotas {
	q := &Quotas{quotas: slices.Clone(quotas), given: make([]model.Resources, len(quotas))}
	slices.SortFunc(q.quotas, func(a, b *corev1.ResourceQuota) int { return strings.Compare(a.Name, b.Name) })
	return q
}

// A Ration is the number of pods that the limits of a namespace leave for a buffer.
type Ration struct {
	// Most is the highest number of pods.
	Most int32
	// Bounded is true if the buffers of the namespace would be for more than mostPods pods together.
	Bounded bool
	// Counted is true if a ResourceQuota counts pods of the template.
	Counted bool
	// Quotas are the names of the ResourceQuotas that allow fewer pods than the buffer specifies.
	Quotas []string
}

// Give returns how many of n pods of the template the limits of the namespace leave, and counts these as used. It returns nil
// if the template is nil.
func (q *Quotas) Give(template *corev1.PodTemplateSpec, n int32) *Ration {
	if template == nil {
		return nil
	}
	left := mostPods - q.pods
	one, r := requestsOf(template), &Ration{Most: min(n, left), Bounded: n > left}
	var applying []int // indexes
	for i, quota := range q.quotas {
		if !covers(quota, template) {
			continue
		}
		applying = append(applying, i)
		fits := q.fits(i, one, n)
		if fits < n {
			r.Quotas = append(r.Quotas, quota.Name)
		}
		r.Most = min(r.Most, fits)
	}
	r.Counted = len(applying) > 0
	for _, i := range applying {
		q.given[i] = q.given[i].Plus(one.Times(int64(r.Most)))
	}
	q.pods += r.Most
	return r
}

// fits returns how many of n pods quota i allows.
func (q *Quotas) fits(i int, one model.Resources, n int32) int32 {
	hard, used := q.quotas[i].Spec.Hard, q.quotas[i].Status.Used
	most := int64(n)
	for key, limit := range hard {
		name, ok := strings.CutPrefix(string(key), "requests.")
		switch {
		case key == "count/pods":
			name = string(corev1.ResourcePods)
		case !ok && key != corev1.ResourceCPU && key != corev1.ResourceMemory && key != corev1.ResourcePods && key != corev1.ResourceEphemeralStorage:
			continue // the quota limits something else than requests or pods
		}
		resourceName := corev1.ResourceName(name)
		if one[resourceName] <= 0 {
			continue
		}
		left := amountOf(resourceName, limit) - amountOf(resourceName, used[key]) - q.given[i][resourceName]
		most = min(most, max(0, left)/one[resourceName])
	}
	return int32(most)
}

func amountOf(name corev1.ResourceName, q resource.Quantity) int64 {
	return model.CapacityOf(corev1.ResourceList{name: q})[name]
}

// covers reports whether the quota applies to pods of the template: all of its scopes match.
func covers(quota *corev1.ResourceQuota, template *corev1.PodTemplateSpec) bool {
	var all []corev1.ScopedResourceSelectorRequirement
	for _, scope := range quota.Spec.Scopes {
		all = append(all, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if quota.Spec.ScopeSelector != nil {
		all = append(all, quota.Spec.ScopeSelector.MatchExpressions...)
	}
	return !slices.ContainsFunc(all, func(r corev1.ScopedResourceSelectorRequirement) bool { return !holdsScope(r, template) })
}

func holdsScope(r corev1.ScopedResourceSelectorRequirement, template *corev1.PodTemplateSpec) bool {
	spec := &template.Spec
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return spec.ActiveDeadlineSeconds != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return spec.ActiveDeadlineSeconds == nil
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort(spec)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(spec)
	case corev1.ResourceQuotaScopePriorityClass:
		switch r.Operator {
		case corev1.ScopeSelectorOpExists:
			return spec.PriorityClassName != ""
		case corev1.ScopeSelectorOpDoesNotExist:
			return spec.PriorityClassName == ""
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(r.Values, spec.PriorityClassName)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(r.Values, spec.PriorityClassName)
		}
	}
	return false // other scopes, such as affinity across namespaces, do not apply to buffers
}

// bestEffort reports whether no container has requests or limits of cpu or memory.
func bestEffort(spec *corev1.PodSpec) bool {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range containers {
			for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
				if !list.Cpu().IsZero() || !list.Memory().IsZero() {
					return false
				}
			}
		}
	}
	return true
}
