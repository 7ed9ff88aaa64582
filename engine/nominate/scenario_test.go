package nominate_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/nominate"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// now is when every scenario takes place.
var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A cluster is the section cluster.yaml.
type cluster struct {
	// Off and Launching set the Options of the decision: On is the negation of Off.
	Off       bool      `json:"switchedOff"`
	Launching bool      `json:"launching"`
	Pods      []podSpec `json:"pods"`
	Nodes     []node    `json:"nodes"`
}

// A podSpec is a pending pod, or Count of them called name-1 and so on.
type podSpec struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	CPU   string `json:"cpu"` // default 1
	// Planned is the node or claim that the last plan has put the pod onto. Unplanned means that the last plan has refused it.
	Planned   string `json:"planned"`
	Unplanned bool   `json:"unplanned"`
	// Nominated is the pod's nomination, By the field manager that wrote it; default: this program.
	Nominated string `json:"nominated"`
	By        string `json:"by"`
}

// A node has a claim of the name CLAIM-name.
type node struct {
	Name string `json:"name"`
	CPU  string `json:"cpu"` // default 2
	// Stage is created (the claim), launched (the instance), joined (the node) or registered.
	Stage string `json:"stage"`
	// Told means that the cloud returned a node name at launch: As if it is set, else the right name.
	Told bool   `json:"told"`
	As   string `json:"as"`
	// Created and Joined are the ages of the claim and of the node.
	Created metav1.Duration `json:"created"`
	Joined  metav1.Duration `json:"joined"`
	// Waits means that the registration waits for nominations, until the claim says to which node they are.
	Waits       bool           `json:"waits"`
	NominatedTo string         `json:"nominatedTo"`
	Deleting    bool           `json:"deleting"`
	Cordoned    bool           `json:"cordoned"`
	Taints      []corev1.Taint `json:"taints"`
}

// TestScenarios runs Decide over testdata/scenario. To accept a change, run with -update and read the diff.
func TestScenarios(t *testing.T) {
	scenario.Files(t, "testdata/scenario", func(t *testing.T, ar *txtar.Archive) string {
		if len(ar.Files) != 2 || len(strings.TrimSpace(string(ar.Comment))) == 0 {
			t.Fatal("a scenario is prose, cluster.yaml and want")
		}
		var c cluster
		if err := yaml.UnmarshalStrict(scenario.Section(t, ar, "cluster.yaml").Data, &c); err != nil {
			t.Fatal(err)
		}
		return text(nominate.Decide(c.snapshot(), nominate.Options{On: !c.Off, Launching: c.Launching}))
	})
}

// text returns the decision as text, with one line for each nomination and each claim.
func text(d nominate.Decision) string {
	var b strings.Builder
	for _, n := range d.Nominations {
		if n.Node == "" {
			fmt.Fprintf(&b, "clear %s\n", n.Pod.Object.Name)
		} else {
			fmt.Fprintf(&b, "nominate %s to %s\n", n.Pod.Object.Name, n.Node)
		}
	}
	for _, n := range d.Nominated {
		fmt.Fprintf(&b, "release %s (%s)\n", n.Claim.Name, cmp.Or(n.Node, "no nominations"))
	}
	if d.Waiting {
		b.WriteString("claims wait\n")
	}
	return cmp.Or(b.String(), "nothing\n")
}

func (c cluster) snapshot() *model.Snapshot {
	var d model.Delta
	plans := map[string]string{}
	for _, p := range c.Pods {
		for i := range max(p.Count, 1) {
			o := p.object(i)
			d.Pods = append(d.Pods, o)
			if p.Planned != "" || p.Unplanned {
				plans["default/"+o.Name] = p.Planned
			}
		}
	}
	for _, n := range c.Nodes {
		n.add(&d)
	}
	return model.Compile(d).At(now).WithTargets(plans)
}

func (p podSpec) object(i int) *corev1.Pod {
	name := p.Name
	if p.Count > 0 {
		name = fmt.Sprintf("%s-%d", p.Name, i+1)
	}
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	o.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cmp.Or(p.CPU, "1"))},
	}}}
	o.Status.NominatedNodeName = p.Nominated
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	if p.Nominated != "" {
		o.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: cmp.Or(p.By, nominate.FieldManager), Subresource: "status",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
		}}
	}
	return o
}

func (n node) add(d *model.Delta) {
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cmp.Or(n.CPU, "2")), corev1.ResourcePods: resource.MustParse("110"),
	}
	labels, provider := map[string]string{apiv1.NodePoolLabelKey: "default"}, "cloud:///"+n.Name
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-" + n.Name, Labels: labels, Annotations: map[string]string{},
		CreationTimestamp: metav1.NewTime(now.Add(-n.Created.Duration)),
	}}
	if n.Deleting {
		claim.DeletionTimestamp = &metav1.Time{Time: now}
	}
	if n.Told {
		claim.Annotations[apiv1.NodeNameAnnotationKey] = cmp.Or(n.As, n.Name)
	}
	if n.Waits {
		claim.Annotations[apiv1.PodsNominatedToAnnotationKey] = n.NominatedTo
	}
	d.Claims = append(d.Claims, claim)
	if n.Stage == "created" {
		return
	}
	claim.Status.ProviderID, claim.Status.Allocatable, claim.Status.Capacity = provider, size, size
	if n.Stage == "launched" {
		return
	}
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, Labels: map[string]string{apiv1.NodePoolLabelKey: "default"},
		CreationTimestamp: metav1.NewTime(now.Add(-n.Joined.Duration)),
	}}
	if n.Stage == "registered" {
		o.Labels[apiv1.NodeRegisteredLabelKey] = "true"
	}
	o.Spec.ProviderID, o.Spec.Unschedulable, o.Spec.Taints = provider, n.Cordoned, n.Taints
	o.Status.Allocatable, o.Status.Capacity = size, size
	d.Nodes = append(d.Nodes, o)
}
