package verify

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

func TestExistingNode(t *testing.T) {
	now := metav1.NewTime(time.Unix(0, 0))
	for _, tt := range []spoiled{
		{
			name:    "full to the brim", // 3900m allocatable, less 1 for pod there and 200m for the missing DaemonSet pod
			cluster: func(st *story) { st.web[2].Spec.Containers[0].Resources.Requests = list("cpu", "2700m") },
		},
		{
			name: "a millicore too many", only: true,
			cluster: func(st *story) { st.web[2].Spec.Containers[0].Resources.Requests = list("cpu", "2701m") },
			want:    "resources: old: pods request 2701 of cpu, 2700 is free",
		},
		{
			name: "the daemon's pod is there already",
			cluster: func(st *story) {
				st.web[2].Spec.Containers[0].Resources.Requests = list("cpu", "2900m")
				st.there.Namespace = "system"
				st.there.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"}}
			},
		},
		{
			name: "another daemon's pod may hold more than all will ask for", // it requests 1 cpu, the expected pod 200m
			cluster: func(st *story) {
				st.web[2].Spec.Containers[0].Resources.Requests = list("cpu", "2900m")
				st.there.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "former"}}
			},
		},
		{
			name: "a pod that has ended holds nothing",
			cluster: func(st *story) {
				st.web[2].Spec.Containers[0].Resources.Requests = list("cpu", "3700m")
				st.there.Status.Phase = corev1.PodSucceeded
			},
		},
		{
			name: "nothing is asked of what is used up",
			cluster: func(st *story) {
				st.there.Spec.Containers[0].Resources.Requests = list("cpu", "1", "memory", "9Gi")
			},
		},
		{
			name: "the port of a pod there", only: true,
			cluster: func(st *story) { wantPort(st.there, 80, ""); wantPort(st.web[2], 80, "10.0.0.1") },
			want:    "ports: old, pod default/web-3: host port 80 is taken",
		},
		{
			name: "the port of a daemon to come", only: true,
			cluster: func(st *story) {
				wantPort(st.web[2], 80, "")
				st.agent.Spec.Template.Spec.Containers[0].Ports = st.web[2].Spec.Containers[0].Ports
			},
			want: "ports: old, pod default/web-3: host port 80 is taken",
		},
		{name: "a label of the node", cluster: func(st *story) { st.web[2].Spec.NodeSelector = map[string]string{"team": "web"} }},
		{
			name: "another zone", only: true,
			cluster: func(st *story) { st.web[2].Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"} },
			want:    "labels: old, pod default/web-3: its node selector or affinity does not match map[",
		},
		{
			name: "the node by its name",
			cluster: func(st *story) {
				st.web[2].Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: require.In, Values: []string{"old"}}},
					}}},
				}}
			},
		},
		{
			name: "a taint", only: true,
			cluster: func(st *story) { st.web[2].Spec.Tolerations = nil },
			want:    "taints: old, pod default/web-3: does not tolerate dedicated=web:NoSchedule",
		},
		{
			name: "a node that is not ready counts as such once it has been", only: true,
			cluster: func(st *story) { taint(st.old, corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule) },
			want:    "taints: old, pod default/web-3: does not tolerate node.kubernetes.io/not-ready:NoSchedule",
		},
		{
			name: "before that it is about to be",
			cluster: func(st *story) {
				taint(st.old, corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)
				delete(st.old.Labels, apiv1.NodeInitializedLabelKey)
			},
		},
		{
			name: "a reserved node without a claim", only: true,
			cluster: func(st *story) { taint(st.old, apiv1.StagedMoveTaintKey, corev1.TaintEffectNoSchedule) },
			want:    "taints: old, pod default/web-3: does not tolerate ext.karpenter.sh/staged-move:NoSchedule",
		},
		{
			name: "a cordoned node", only: true,
			cluster: func(st *story) { st.old.Spec.Unschedulable = true },
			want:    "taints: old, pod default/web-3: does not tolerate node.kubernetes.io/unschedulable:NoSchedule",
		},
		{
			name: "a node that is being deleted", only: true,
			cluster: func(st *story) { st.old.DeletionTimestamp = &now },
			want:    "node: old: is being deleted",
		},
		{
			name: "a node of another time",
			plan: func(p *model.Plan) { p.Placements[0].Node = &model.Node{Name: "old", Object: &corev1.Node{}} },
			want: "node: old: is not in the snapshot", only: true,
		},
		{
			name: "no node", plan: func(p *model.Plan) { p.Placements[0].Node = nil }, only: true,
			want: "node: pod default/web-3: is placed on no node",
		},
		{
			name: "a node in two parts is still one node", only: true,
			cluster: func(st *story) {
				for _, p := range st.web {
					p.Spec.NodeSelector = nil
				}
			},
			plan: func(p *model.Plan) {
				p.Placements = append(p.Placements, model.Placement{Node: p.Placements[0].Node, Pods: p.Nodes[0].Pods})
				p.Nodes, p.Price, p.Floor = nil, 0, 0
			},
			want: "resources: old: pods request 4500 of cpu, 2700 is free",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func taint(n *corev1.Node, key string, effect corev1.TaintEffect) {
	n.Spec.Taints = append(n.Spec.Taints[:len(n.Spec.Taints):len(n.Spec.Taints)], corev1.Taint{Key: key, Effect: effect})
}

func TestClaimThatIsNotLaunched(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name: "a pod too large for its type", only: true,
			cluster: func(st *story) { st.web[3].Spec.Containers[0].Resources.Requests = list("cpu", "3701m") },
			want:    "resources: wish, type m.small: pods request 3701 of cpu, 3700 is free",
		},
		{
			name:    "its offering may be sold out by now",
			cluster: func(st *story) { st.small.Offerings[2].Available = false },
		},
		{
			name: "its zone is not known yet", only: true,
			cluster: func(st *story) { st.web[3].Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"} },
			want:    "labels: wish, type m.small, pod default/web-4",
		},
		{
			name: "a taint", only: true, cluster: func(st *story) { st.web[3].Spec.Tolerations = nil },
			want: "taints: wish, pod default/web-4: does not tolerate dedicated=web:NoSchedule",
		},
		{
			name: "a type that is gone", only: true,
			cluster: func(st *story) { st.wish.Spec.Requirements[0].Values = []string{"m.tiny"} },
			want:    "type: wish: no known type meets its requirements",
		},
		{
			name: "a label that no component sets on it", only: true,
			cluster: func(st *story) { st.web[3].Spec.NodeSelector = map[string]string{"colour": "0"} },
			want:    "labels: wish, type m.small, pod default/web-4",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// The capacity of a claim that is launched but has no node yet is that of its status.
func TestClaimInFlight(t *testing.T) {
	flying := func(st *story) {
		st.wish.Status.ProviderID = "id-wish"
		st.wish.Status.Capacity = list("cpu", "4", "pods", "20")
		st.wish.Status.Allocatable = list("cpu", "2", "memory", "1Gi", "pods", "20")
		st.wish.Labels[corev1.LabelTopologyZone] = "b"
		st.web[3].Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "b"}
	}
	for _, tt := range []spoiled{
		{name: "it fits", cluster: flying},
		{
			name: "it does not", only: true,
			cluster: func(st *story) { flying(st); st.web[3].Spec.Containers[0].Resources.Requests = list("cpu", "1801m") },
			want:    "resources: wish: pods request 1801 of cpu, 1800 is free",
		},
		{
			name: "the wrong zone", only: true,
			cluster: func(st *story) { flying(st); st.wish.Labels[corev1.LabelTopologyZone] = "a" },
			want:    "labels: wish, pod default/web-4",
		},
		{
			name: "the old name of a label",
			cluster: func(st *story) {
				flying(st)
				st.web[3].Spec.NodeSelector = map[string]string{corev1.LabelFailureDomainBetaZone: "b"}
			},
		},
		{
			name: "start-up taints go by themselves",
			cluster: func(st *story) {
				flying(st)
				st.wish.Spec.StartupTaints = []corev1.Taint{{Key: "booting", Effect: corev1.TaintEffectNoSchedule}}
				st.wish.Spec.Taints = append(st.wish.Spec.Taints[:2:2], st.wish.Spec.StartupTaints...)
			},
		},
		{
			name: "its machine is being ended", only: true,
			cluster: func(st *story) {
				flying(st)
				st.wish.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeInstanceTerminating, Status: metav1.ConditionTrue}}
			},
			want: "node: wish: is being deleted",
		},
		{
			name: "it counts against the limit", only: true,
			cluster: func(st *story) { flying(st); st.pool.Spec.Limits = apiv1.Limits(list("cpu", "15")) },
			want:    "limits: pool default: may have 15000 of cpu, has 8000 and would get up to 8000 more",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// If a registered node does not report its devices yet, the devices in the status of its claim count.
func TestClaimWithFreshNode(t *testing.T) {
	st := newStory()
	gpu := list("example.com/gpu", "1")
	st.wish.Status.ProviderID = "id-wish"
	st.wish.Status.Allocatable = gpu
	st.wish.Status.Capacity = gpu
	st.wish.Labels[corev1.LabelTopologyZone] = "b"
	st.web[3].Spec.Containers[0].Resources.Requests["example.com/gpu"] = gpu["example.com/gpu"]
	fresh := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "fresh", Labels: map[string]string{"team": "nobody"}},
		Spec:       corev1.NodeSpec{ProviderID: "id-wish", Taints: []corev1.Taint{apiv1.UnregisteredNoExecuteTaint()}},
		Status:     corev1.NodeStatus{Allocatable: list("cpu", "4", "memory", "8Gi", "pods", "20")},
	}
	st.web[3].Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "b", "team": "web"}
	s, p := st.told(t)
	s = s.Apply(model.Delta{Nodes: []*corev1.Node{fresh}})
	p.Placements[1].Node, _ = s.NodeByName("wish")
	if found := Plan(s, p); len(found) > 0 {
		t.Errorf("violations: %q", found)
	}
}

// The taint of staged moves is ignored on nodes with a claim, because Karpenter removes it before the pods that are assigned
// to the node are bound. On nodes without a claim it counts.
func TestReservedTaint(t *testing.T) {
	for _, initialized := range []bool{true, false} {
		for _, claim := range []*apiv1.NodeClaim{{}, nil} {
			o := &corev1.Node{}
			o.Spec.Taints = []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()}
			n := &model.Node{Object: o, Claim: claim, Registered: true, Initialized: initialized}
			if got, kept := len(taintsOf(n)), claim == nil; (got == 1) != kept {
				t.Errorf("with a claim: %v, initialized: %v; %d taints must be tolerated", claim != nil, initialized, got)
			}
		}
	}
}

// The taint of a reboot is ignored while repair reboots the node, although the node still counts as initialized before the cloud
// is called. The taint of a node that is not rebooted counts.
func TestRebootingTaint(t *testing.T) {
	for _, tt := range []struct {
		rebooting metav1.ConditionStatus
		taints    int
	}{{metav1.ConditionTrue, 0}, {metav1.ConditionFalse, 1}} {
		claim := &apiv1.NodeClaim{}
		claim.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeRebooting, Status: tt.rebooting}}
		o := &corev1.Node{}
		o.Spec.Taints = []corev1.Taint{apiv1.RebootingNoScheduleTaint()}
		if got := len(taintsOf(&model.Node{Object: o, Claim: claim, Registered: true, Initialized: true})); got != tt.taints {
			t.Errorf("Rebooting=%s: %d taints must be tolerated, want %d", tt.rebooting, got, tt.taints)
		}
	}
}
