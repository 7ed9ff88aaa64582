package main

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// A request is one line of the input of -serve, as package upstream writes it.
type request struct {
	// Do is plan or disrupt.
	Do  string    `json:"do"`
	Now time.Time `json:"now"`
	// Begin is set in the first request only.
	Begin *beginning `json:"begin"`

	// Pods, Nodes, Claims and Budgets are new or changed objects. GonePods has keys, and GoneNodes and GoneClaims have
	// names, of objects that do not exist any more.
	Pods       []*corev1.Pod                   `json:"pods"`
	Nodes      []*corev1.Node                  `json:"nodes"`
	Claims     []*karpenterv1.NodeClaim        `json:"claims"`
	Budgets    []*policyv1.PodDisruptionBudget `json:"budgets"`
	GonePods   []string                        `json:"gonePods"`
	GoneNodes  []string                        `json:"goneNodes"`
	GoneClaims []string                        `json:"goneClaims"`
}

// A beginning has the objects that do not change.
type beginning struct {
	Pools      []*karpenterv1.NodePool   `json:"pools"`
	Types      map[string][]requiredType `json:"types"`
	Daemons    []*appsv1.DaemonSet       `json:"daemons"`
	Namespaces []*corev1.Namespace       `json:"namespaces"`
}

// A requiredType is an instance type with its requirements.
type requiredType struct {
	Name         string                                             `json:"name"`
	Requirements []karpenterv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Capacity     corev1.ResourceList                                `json:"capacity"`
	Allocatable  corev1.ResourceList                                `json:"allocatable"`
	Offerings    []struct {
		Requirements []karpenterv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
		Price        float64                                            `json:"price"`
		Available    bool                                               `json:"available"`
	} `json:"offerings"`
}

// An answer is one line of the output of -serve.
type answer struct {
	Error      string        `json:"error,omitempty"`
	Nodes      []plannedNode `json:"nodes,omitempty"`
	Placements []placement   `json:"placements,omitempty"`
	Refused    []string      `json:"refused,omitempty"`
	Commands   []command     `json:"commands,omitempty"`
}

// A plannedNode is a node to launch.
type plannedNode struct {
	Pool         string                                             `json:"pool"`
	Options      []string                                           `json:"options"`
	Requirements []karpenterv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Requests     corev1.ResourceList                                `json:"requests"`
	Pods         []string                                           `json:"pods"`
}

// A placement has pods that go to an existing node, which is named by its claim.
type placement struct {
	Node string   `json:"node"`
	Pods []string `json:"pods"`
}

// A command removes the nodes of the claims.
type command struct {
	Reason       string        `json:"reason"`
	Method       string        `json:"method"`
	Claims       []string      `json:"claims"`
	Replacements []plannedNode `json:"replacements,omitempty"`
	Placements   []placement   `json:"placements,omitempty"`
}
