package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A DeviceRequest is a number of devices of one DeviceClass, by dynamic resource allocation.
type DeviceRequest struct {
	// Class is the DeviceClass, or the alternatives joined by " or ". It is empty if the ResourceClaim or its template is
	// not known.
	Class string `json:"class"`
	// Count is the number of devices. It is null if it is not known: all devices of a node, alternatives with different
	// numbers, or an unknown claim.
	Count *int64 `json:"count"`
}

// Devices is the demand for devices by dynamic resource allocation.
type Devices struct {
	// Problem is why ResourceClaims could not be read, empty if they were. Then the classes are not known.
	Problem string         `json:"problem"`
	Classes []DeviceDemand `json:"classes"`
}

// A DeviceDemand is the demand for the devices of one DeviceClass.
type DeviceDemand struct {
	Class string `json:"class"`
	// Met and Unmet are the devices of ResourceClaims that are allocated and that are not. A claim that several pods share
	// counts once.
	Met   int64 `json:"met"`
	Unmet int64 `json:"unmet"`
	// Uncounted is the number of requests without a known number of devices.
	Uncounted int `json:"uncounted"`
	// PodsBound and PodsPending are the pods that request devices of the class.
	PodsBound   int `json:"podsBound"`
	PodsPending int `json:"podsPending"`
	// Reason is why pending pods have no node, empty if none is refused.
	Reason string `json:"reason"`
}

// Claims are the ResourceClaims and ResourceClaimTemplates of the cluster. The zero value knows none.
type Claims struct {
	claims    map[string]claimed
	templates map[string][]DeviceRequest
}

// A claimed is a ResourceClaim.
type claimed struct {
	requests  []DeviceRequest
	allocated bool
}

// NewClaims returns the requests of claims and templates.
func NewClaims(claims []resourcev1.ResourceClaim, templates []resourcev1.ResourceClaimTemplate) Claims {
	c := Claims{claims: make(map[string]claimed, len(claims)), templates: make(map[string][]DeviceRequest, len(templates))}
	for i := range claims {
		o := &claims[i]
		c.claims[o.Namespace+"/"+o.Name] = claimed{requestsOf(o.Spec.Devices.Requests), o.Status.Allocation != nil}
	}
	for i := range templates {
		o := &templates[i]
		c.templates[o.Namespace+"/"+o.Name] = requestsOf(o.Spec.Spec.Devices.Requests)
	}
	return c
}

func requestsOf(requests []resourcev1.DeviceRequest) []DeviceRequest {
	out := make([]DeviceRequest, 0, len(requests))
	for i := range requests {
		r := &requests[i]
		if e := r.Exactly; e != nil {
			out = append(out, DeviceRequest{e.DeviceClassName, countOf(e.AllocationMode, e.Count)})
			continue
		}
		var classes []string
		var counts []*int64
		for _, sub := range r.FirstAvailable {
			classes = append(classes, sub.DeviceClassName)
			counts = append(counts, countOf(sub.AllocationMode, sub.Count))
		}
		x := DeviceRequest{Class: strings.Join(classes, " or ")}
		if len(counts) > 0 && !slices.ContainsFunc(counts, func(n *int64) bool { return n == nil || counts[0] == nil || *n != *counts[0] }) {
			x.Count = counts[0] // the alternatives have the same number
		}
		out = append(out, x)
	}
	return out
}

// countOf returns the number of devices of a request; one is the default.
func countOf(mode resourcev1.DeviceAllocationMode, count int64) *int64 {
	if mode == resourcev1.DeviceAllocationModeAll {
		return nil
	}
	return new(max(count, 1))
}

// ClaimsDevices reports whether the pod has ResourceClaims.
func ClaimsDevices(p *model.Pod) bool { return len(p.Object.Spec.ResourceClaims) > 0 }

// A use is one ResourceClaim of a pod. Name identifies the claim. It is empty if the claim does not exist yet or is not in
// Claims.
type use struct {
	name      string
	requests  []DeviceRequest
	allocated bool
}

// uses returns the ResourceClaims of the pod.
func (c Claims) uses(p *model.Pod) []use {
	var out []use
	o := p.Object
	for i := range o.Spec.ResourceClaims {
		ref := &o.Spec.ResourceClaims[i]
		name := ref.ResourceClaimName
		if name == nil {
			for k := range o.Status.ResourceClaimStatuses {
				if s := &o.Status.ResourceClaimStatuses[k]; s.Name == ref.Name {
					name = s.ResourceClaimName
				}
			}
		}
		if name != nil {
			if x, ok := c.claims[o.Namespace+"/"+*name]; ok {
				out = append(out, use{o.Namespace + "/" + *name, x.requests, x.allocated})
				continue
			}
		}
		requests := []DeviceRequest{{}}
		if t := ref.ResourceClaimTemplateName; t != nil {
			if known, ok := c.templates[o.Namespace+"/"+*t]; ok {
				requests = known
			}
		}
		out = append(out, use{requests: requests})
	}
	return out
}

// Of returns what the ResourceClaims of the pod request.
func (c Claims) Of(p *model.Pod) []DeviceRequest {
	out := []DeviceRequest{}
	for _, u := range c.uses(p) {
		out = append(out, u.requests...)
	}
	return out
}

// keyOf returns the requests as a text that differs for different requests.
func keyOf(requests []DeviceRequest) string {
	var b strings.Builder
	for _, r := range requests {
		b.WriteString(r.Class)
		b.WriteByte('\x00')
		if r.Count != nil {
			b.WriteString(strconv.FormatInt(*r.Count, 10))
		}
		b.WriteByte('\x00')
	}
	return b.String()
}

// DevicesOf returns the demand of all pods. groups are the pending pods.
func DevicesOf(s *model.Snapshot, c Claims, groups []PendingGroup) Devices {
	byClass := map[string]*DeviceDemand{}
	counted := map[string]bool{}
	add := func(p *model.Pod, pending bool) {
		seen := map[string]bool{} // the classes of this pod
		for _, u := range c.uses(p) {
			known := u.name != "" && counted[u.name]
			counted[u.name] = true
			for _, r := range u.requests {
				d := byClass[r.Class]
				if d == nil {
					d = &DeviceDemand{Class: r.Class}
					byClass[r.Class] = d
				}
				if !known {
					d.count(r, u.allocated)
				}
				switch {
				case seen[r.Class]:
				case pending:
					d.PodsPending++
				default:
					d.PodsBound++
				}
				seen[r.Class] = true
			}
		}
	}
	for _, n := range s.EachNode() {
		for _, p := range n.Pods {
			if ClaimsDevices(p) {
				add(p, false)
			}
		}
	}
	for _, p := range s.Pending() {
		if ClaimsDevices(p) && !p.Virtual() {
			add(p, true)
		}
	}
	for i := range groups {
		for _, r := range groups[i].Devices {
			if d := byClass[r.Class]; d != nil && d.Reason == "" && groups[i].Outcome == OutcomeRefused {
				d.Reason = groups[i].Reason
			}
		}
	}
	out := Devices{Classes: make([]DeviceDemand, 0, len(byClass))}
	for _, d := range byClass {
		out.Classes = append(out.Classes, *d)
	}
	slices.SortFunc(out.Classes, func(a, b DeviceDemand) int {
		return cmp.Or(cmp.Compare(b.PodsPending, a.PodsPending), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// count adds one request.
func (d *DeviceDemand) count(r DeviceRequest, allocated bool) {
	switch {
	case r.Count == nil:
		d.Uncounted++
	case allocated:
		d.Met += *r.Count
	default:
		d.Unmet += *r.Count
	}
}
