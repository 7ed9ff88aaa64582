package nodepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		outcomes string // + is a node that joined, - one that did not
		want     Diagnosis
	}{
		{"", Diagnosis{}},
		{"+", Diagnosis{Known: true, Healthy: true}},
		{"-", Diagnosis{}},
		{"-+", Diagnosis{Known: true, Healthy: true}},
		{"+-", Diagnosis{Known: true, Healthy: true}},
		{"--", Diagnosis{Known: true, Reason: "RegistrationFailed", Message: "Node did not register in time"}},
		{"-++-", Diagnosis{Known: true, Reason: "RegistrationFailed", Message: "Node did not register in time"}},
		{"-+++-", Diagnosis{Known: true, Healthy: true}}, // the first failure is not stored any more
		{"----+++", Diagnosis{Known: true, Healthy: true}},
	} {
		t.Run(tt.outcomes, func(t *testing.T) {
			h := NewHealth()
			for _, o := range tt.outcomes {
				recordResult(h, "pool", o == '+')
				recordResult(h, "another", o != '+')
				recordResult(h, "", false)
			}
			if got := h.Of("pool"); got != tt.want {
				t.Errorf("diagnosis is %+v, want %+v", got, tt.want)
			}
		})
	}
}

// recordResult records a success or a failure.
func recordResult(h *Health, pool types.UID, ok bool) {
	if ok {
		h.RecordSuccess(pool)
		return
	}
	h.RecordFailure(pool, "", "Node did not register in time")
}

// The diagnosis depends only on the last four results.
func TestHealthForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.Bool(), remembered, 20).Draw(t, "outcomes")
		all, last := NewHealth(), NewHealth()
		for i, ok := range outcomes {
			recordResult(all, "pool", ok)
			if i >= len(outcomes)-remembered {
				recordResult(last, "pool", ok)
			}
		}
		if all.Of("pool") != last.Of("pool") {
			t.Fatalf("all say %+v, the last say %+v", all.Of("pool"), last.Of("pool"))
		}
	})
}

// observed returns a NodePool with a condition for its current generation and for that of its node class.
func observed(status metav1.ConditionStatus, reason string) *apiv1.NodePool {
	return aPool(func(p *apiv1.NodePool) {
		p.Status.NodeClassObservedGeneration = 7
		message := "m"
		if status == metav1.ConditionTrue {
			message = ""
		}
		condition.Set(p, metav1.Condition{
			Type: apiv1.ConditionTypeNodeRegistrationHealthy, Status: status, Reason: reason, Message: message,
		}, time.Unix(1, 0))
	})
}

func TestRegistrationHealth(t *testing.T) {
	stale := observed("False", "RegistrationFailed")
	stale.Generation = 2
	otherClass := observed("False", "RegistrationFailed")
	otherClass.Status.NodeClassObservedGeneration = 6
	for _, tt := range []struct {
		name     string
		pool     *apiv1.NodePool
		outcomes []bool
		status   metav1.ConditionStatus
		reason   string
		after    Diagnosis // the diagnosis of Health afterwards
	}{
		{"new pool", aPool(), []bool{false, false}, "Unknown", "AwaitingReconciliation", Diagnosis{}},
		{"success", observed("Unknown", "x"), []bool{true}, "True", "NodeRegistrationHealthy",
			Diagnosis{Known: true, Healthy: true}},
		{"one failure", observed("Unknown", "x"), []bool{false}, "Unknown", "x", Diagnosis{}},
		{"one failure of a healthy pool", observed("True", "NodeRegistrationHealthy"), []bool{false}, "True", "NodeRegistrationHealthy",
			Diagnosis{Known: true, Healthy: true}},
		{"failures", observed("True", "x"), []bool{true, false, false}, "False", "RegistrationFailed",
			Diagnosis{Known: true, Reason: "RegistrationFailed", Message: "Node did not register in time"}},
		{"restart while healthy", observed("True", "NodeRegistrationHealthy"), nil, "True", "NodeRegistrationHealthy",
			Diagnosis{Known: true, Healthy: true}},
		{"restart while unhealthy", observed("False", "LaunchFailed"), nil, "False", "LaunchFailed",
			Diagnosis{Known: true, Reason: "LaunchFailed", Message: "m"}},
		{"restart while unknown", observed("Unknown", "x"), nil, "Unknown", "x", Diagnosis{}},
		{"the pool changed", stale, []bool{false, false}, "Unknown", "AwaitingReconciliation", Diagnosis{}},
		{"the class changed", otherClass, []bool{false, false}, "Unknown", "AwaitingReconciliation", Diagnosis{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.pool, aClass("True"))
			h := NewHealth()
			for _, ok := range tt.outcomes {
				recordResult(h, "pool", ok)
			}
			pool, _ := w.run(&RegistrationHealth{Client: w, Clock: w.clock, Cloud: onlyFacts{}, Health: h})
			got := condition.Get(pool, apiv1.ConditionTypeNodeRegistrationHealthy)
			if got == nil || got.Status != tt.status || got.Reason != tt.reason {
				t.Errorf("condition is %+v, want %s %s", got, tt.status, tt.reason)
			}
			if pool.Status.NodeClassObservedGeneration != 7 {
				t.Errorf("observed generation of the class is %d", pool.Status.NodeClassObservedGeneration)
			}
			if d := h.Of("pool"); d != tt.after {
				t.Errorf("diagnosis is %+v, want %+v", d, tt.after)
			}
		})
	}
}

func TestHealthOfDeletedPoolsIsForgotten(t *testing.T) {
	w := newWorld(t, aPool(func(p *apiv1.NodePool) { p.Name, p.UID = "kept", "kept" }))
	h := NewHealth()
	h.RecordSuccess("pool")
	h.RecordSuccess("kept")
	w.run(&RegistrationHealth{Client: w, Clock: w.clock, Cloud: onlyFacts{}, Health: h})
	if h.Of("pool").Known || !h.Of("kept").Known {
		t.Errorf("deleted pool %+v, other pool %+v", h.Of("pool"), h.Of("kept"))
	}
}

// A NodePool is reconciled for a claim when its node registers and when it begins to be deleted, not for other changes.
func TestOutcome(t *testing.T) {
	claim := func(registered metav1.ConditionStatus, deleted bool) *apiv1.NodeClaim {
		c := &apiv1.NodeClaim{}
		c.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeRegistered, Status: registered}}
		if deleted {
			c.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		}
		return c
	}
	for _, tt := range []struct {
		name          string
		before, after *apiv1.NodeClaim
		want          bool
	}{
		{"registers", claim("Unknown", false), claim("True", false), true},
		{"stays unregistered", claim("Unknown", false), claim("False", false), false},
		{"stays registered", claim("True", false), claim("True", false), false},
		{"begins to be deleted", claim("Unknown", false), claim("Unknown", true), true},
		{"is being deleted", claim("True", true), claim("True", true), false},
	} {
		if got := outcome().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
