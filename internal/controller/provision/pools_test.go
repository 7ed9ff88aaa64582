package provision

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A pool without a matching type gets an event. If one requirement alone excludes all types, the event names it. A pool whose
// types cannot be listed gets no event.
func TestPoolsWithoutTypesAreTold(t *testing.T) {
	in := func(key, value string) apiv1.NodeSelectorRequirementWithMinValues {
		return apiv1.NodeSelectorRequirementWithMinValues{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value},
		}
	}
	const prefix = "useless NoCompatibleInstanceTypes: No instance type matches spec.template.spec.requirements: none has "
	for _, tt := range []struct {
		name  string
		reqs  []apiv1.NodeSelectorRequirementWithMinValues
		fails bool
		want  []string
	}{
		{"suits one", []apiv1.NodeSelectorRequirementWithMinValues{in(corev1.LabelInstanceTypeStable, "small")}, false, nil},
		{"a misspelt type", []apiv1.NodeSelectorRequirementWithMinValues{in(corev1.LabelInstanceTypeStable, "smal")}, false,
			[]string{prefix + "node.kubernetes.io/instance-type in [smal]"}},
		{"types are not known", []apiv1.NodeSelectorRequirementWithMinValues{in(corev1.LabelInstanceTypeStable, "smal")}, true, nil},
		{"type and zone", []apiv1.NodeSelectorRequirementWithMinValues{
			in(corev1.LabelInstanceTypeStable, "small"), in(corev1.LabelTopologyZone, "b"),
		}, false, []string{prefix + "all of karpenter.sh/nodepool in [useless]; " +
			"node.kubernetes.io/instance-type in [small]; topology.kubernetes.io/zone in [b]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			other := typeOf("other", 2, 0.1)
			other.Requirements = other.Requirements.Without(corev1.LabelTopologyZone)
			w.cloud.Types = append(w.cloud.Types, other)
			if tt.fails {
				w.cloud.TypesErr = &cloud.NodeClassNotReadyError{}
			}
			pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "useless", UID: "useless"}}
			pool.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("class")
			pool.Spec.Template.Spec.Requirements = tt.reqs
			pool.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
			w.Cluster.Set(pool)
			w.pend("web", 1, 1)
			w.clock.Step(time.Second)
			w.reconcile()
			if told := w.told(telemetry.EventNoCompatibleInstanceTypes); !slices.Equal(told, tt.want) {
				t.Errorf("told %q, want %q", told, tt.want)
			}
		})
	}
}

// The reasons why a NodePool has no instance type: no offering of a matching type is available, or the available ones have too
// few values for minValues. The policy BestEffort ignores minValues.
func TestIncompatible(t *testing.T) {
	types := []*model.InstanceType{typeOf("small", 2, 0.1), typeOf("large", 8, 0.4), typeOf("huge", 64, 4)}
	types[2].Offerings[0].Available = false
	pool := func(least int, names ...string) require.Set {
		return require.FromSpec([]apiv1.NodeSelectorRequirementWithMinValues{{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: names, MinValues: &least,
		}})
	}
	for _, tt := range []struct {
		name   string
		reqs   require.Set
		strict bool
		want   string
	}{
		{"one is available", pool(1, "small", "huge"), true, ""},
		{"none is available", pool(1, "huge"), true, "No instance type that matches spec.template.spec.requirements has an available offering"},
		{"as many as minValues", pool(2, "small", "large"), true, ""},
		{"fewer are available than minValues", pool(2, "small", "huge"), true, "Available instance types that match " +
			"spec.template.spec.requirements have 1 value of node.kubernetes.io/instance-type, fewer than its minValues of 2"},
		{"BestEffort", pool(2, "small", "huge"), false, ""},
	} {
		if got := incompatible(types, tt.reqs, tt.strict); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// flaky is a cloud that fails to list the instance types of some pools.
type flaky struct {
	*fakecloud.Cloud
	fails map[string]error
}

func (f flaky) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	if err := f.fails[pool.Name]; err != nil {
		return nil, err
	}
	return f.Cloud.InstanceTypes(ctx, pool)
}

// If the types of a pool cannot be listed for some time, its last types are used. Its pods do not move to a pool of lower weight.
func TestTypesCannotBeListed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before bool // the types were listed before the failure
		change bool // the pool has changed since the types were listed
		err    error
		want   string
	}{
		{"after they were known", true, false, errors.New("no answer"), "heavy"},
		{"of a pool that changed since", true, true, errors.New("no answer"), "default"},
		{"they were never known", false, false, errors.New("no answer"), "default"},
		{"its node class is not ready", true, false, &cloud.NodeClassNotReadyError{}, "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			known, _ := w.Cluster.Snapshot().Pool("default")
			heavy := known.Object.DeepCopy()
			heavy.Name, heavy.UID, heavy.Spec.Weight = "heavy", "heavy", new(int32(10))
			w.Cluster.Set(heavy)
			fails := map[string]error{}
			w.Cloud = flaky{w.cloud, fails}
			if tt.before {
				w.pend("early", 1, 7)
				w.clock.Step(w.BatchMax)
				w.reconcile()
			}
			fails["heavy"] = tt.err
			if tt.change {
				heavy = heavy.DeepCopy()
				heavy.Generation++
				w.Cluster.Set(heavy)
			}
			before := len(w.claims())
			w.pend("late", 1, 7)
			w.clock.Step(w.BatchMax)
			w.reconcile()
			n := 0
			for _, c := range w.claims() {
				if c.Labels[apiv1.NodePoolLabelKey] == tt.want {
					n++
				}
			}
			if all := len(w.claims()); all <= before || n == 0 || tt.want == "heavy" && n != all {
				t.Errorf("%d of %d claims are of pool %s", n, all, tt.want)
			}
		})
	}
}
