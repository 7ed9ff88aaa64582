package upstream

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A request is one line to the program. It has the changes of the cluster since the last request, which the program
// applies before it decides. bench/peer has the same type for the other side.
type request struct {
	// Do is plan or disrupt.
	Do  string    `json:"do"`
	Now time.Time `json:"now"`
	// Begin is set in the first request only.
	Begin *beginning `json:"begin,omitempty"`

	// Pods, Nodes, Claims and Budgets are new or changed, in the order of their keys.
	Pods    []*corev1.Pod                   `json:"pods,omitempty"`
	Nodes   []*corev1.Node                  `json:"nodes,omitempty"`
	Claims  []*apiv1.NodeClaim              `json:"claims,omitempty"`
	Budgets []*policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
	// GonePods are keys, GoneNodes and GoneClaims names of objects that do not exist any more.
	GonePods   []string `json:"gonePods,omitempty"`
	GoneNodes  []string `json:"goneNodes,omitempty"`
	GoneClaims []string `json:"goneClaims,omitempty"`
}

// A beginning has the objects that do not change.
type beginning struct {
	Pools      []*apiv1.NodePool         `json:"pools"`
	Types      map[string][]instanceType `json:"types"` // by NodePool
	Daemons    []*appsv1.DaemonSet       `json:"daemons"`
	Namespaces []*corev1.Namespace       `json:"namespaces"`
}

type instanceType struct {
	Name         string                                       `json:"name"`
	Requirements []apiv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Capacity     corev1.ResourceList                          `json:"capacity"`
	Allocatable  corev1.ResourceList                          `json:"allocatable"`
	Offerings    []offering                                   `json:"offerings"`
}

type offering struct {
	Requirements []apiv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Price        float64                                      `json:"price"`
	Available    bool                                         `json:"available"`
}

func newInstanceType(t *model.InstanceType) instanceType {
	out := instanceType{
		Name: t.Name, Requirements: t.Requirements.Spec(), Capacity: t.Capacity.List(), Allocatable: t.Allocatable.List(),
	}
	for _, o := range t.Offerings {
		out.Offerings = append(out.Offerings, offering{o.Requirements.Spec(), o.Price, o.Available})
	}
	return out
}

// An answer is one line from the program. A plan has Nodes, Placements and Refused; a decision of disruption has Commands.
type answer struct {
	Error      string      `json:"error"`
	Nodes      []node      `json:"nodes"`
	Placements []placement `json:"placements"`
	// Refused are the keys of the pods that get no node.
	Refused  []string  `json:"refused"`
	Commands []command `json:"commands"`
}

// A node is a node to launch.
type node struct {
	Pool         string                                       `json:"pool"`
	Options      []string                                     `json:"options"`
	Requirements []apiv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Requests     corev1.ResourceList                          `json:"requests"`
	Pods         []string                                     `json:"pods"`
}

// A placement has the keys of pods that are planned on an existing node.
type placement struct {
	Node string   `json:"node"`
	Pods []string `json:"pods"`
}

// A command removes nodes, which are named by their claims.
type command struct {
	Reason       string      `json:"reason"`
	Method       string      `json:"method"`
	Claims       []string    `json:"claims"`
	Replacements []node      `json:"replacements"`
	Placements   []placement `json:"placements"`
}
