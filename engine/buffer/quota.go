package buffer

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Quotas are the ResourceQuotas of one namespace, and what buffers have been given of them. Real pods are counted by the
// quotas themselves, room is not: it must not keep a real pod out. So buffers share what pods have left, one after the other.
type Quotas struct {
	quotas []*corev1.ResourceQuota
	// given is what the buffers before have of each quota.
	given []model.Resources
}

// NewQuotas returns the quotas with nothing given yet.
func NewQuotas(quotas []*corev1.ResourceQuota) *Quotas {
	q := &Quotas{quotas: slices.Clone(quotas), given: make([]model.Resources, len(quotas))}
	slices.SortFunc(q.quotas, func(a, b *corev1.ResourceQuota) int { return strings.Compare(a.Name, b.Name) })
	return q
}

// A Ration is how much room the quotas of a namespace leave a buffer.
type Ration struct {
	// Most is how many pods there may be room for.
	Most int32
	// Quotas are the names of those that leave no more, nil if they leave what the buffer wants.
	Quotas []string
}

// Give returns what the quotas leave for a buffer that wants room for n pods of the template, and takes it out of them. It
// returns nil if there is no quota that counts such pods.
func (q *Quotas) Give(template *corev1.PodTemplateSpec, n int32) *Ration {
	if q == nil || template == nil {
		return nil
	}
	one := demand(template)
	r := &Ration{Most: n}
	counted := false
	for i, quota := range q.quotas {
		if !covers(quota, template) {
			continue
		}
		counted = true
		fits := q.fits(i, one, n)
		if fits < n {
			r.Quotas = append(r.Quotas, quota.Name)
		}
		r.Most = min(r.Most, fits)
	}
	if !counted {
		return nil
	}
	for i, quota := range q.quotas {
		if covers(quota, template) {
			q.given[i] = q.given[i].Plus(one.Times(int64(r.Most)))
		}
	}
	return r
}

// fits returns how many of n pods the quota has left.
func (q *Quotas) fits(i int, one model.Resources, n int32) int32 {
	hard, used := q.quotas[i].Spec.Hard, q.quotas[i].Status.Used
	most := int64(n)
	for key, limit := range hard {
		name, ok := strings.CutPrefix(string(key), "requests.")
		switch {
		case key == "count/pods":
			name = string(corev1.ResourcePods)
		case !ok && key != corev1.ResourceCPU && key != corev1.ResourceMemory && key != corev1.ResourcePods && key != corev1.ResourceEphemeralStorage:
			continue // limits and objects of other kinds
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

// demand is what a quota counts of one pod.
func demand(template *corev1.PodTemplateSpec) model.Resources {
	return model.NewPod(&corev1.Pod{Spec: specOf(template)}).Requests
}

func amountOf(name corev1.ResourceName, q resource.Quantity) int64 {
	return model.CapacityOf(corev1.ResourceList{name: q})[name]
}

// covers reports whether the quota counts pods of the template: all of its scopes hold.
func covers(quota *corev1.ResourceQuota, template *corev1.PodTemplateSpec) bool {
	for _, scope := range quota.Spec.Scopes {
		if !holdsScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, template) {
			return false
		}
	}
	if quota.Spec.ScopeSelector != nil {
		for _, r := range quota.Spec.ScopeSelector.MatchExpressions {
			if !holdsScope(r, template) {
				return false
			}
		}
	}
	return true
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
	return false // a scope that says nothing of room, such as one of affinity across namespaces
}

// bestEffort reports whether no container asks for cpu or memory.
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
