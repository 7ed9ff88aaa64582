package nodepool

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// The message of the NodePool's condition has the cause from the node class, so that one kubectl describe shows it. A NodePool is
// used here as a node class whose condition Ready depends on other conditions.
func TestJudgeClassNamesTheCause(t *testing.T) {
	ref := &apiv1.NodeClassReference{Kind: "Class", Name: "default"}
	for name, tt := range map[string]struct {
		status metav1.ConditionStatus
		want   string
	}{
		"not ready": {metav1.ConditionFalse, "Class default is not ready: ValidationSucceeded: spec.x is wrong"},
		"unknown":   {metav1.ConditionUnknown, "Condition Ready of Class default is Unknown: ValidationSucceeded: spec.x is wrong"},
	} {
		class := &apiv1.NodePool{}
		class.Status.Conditions = []metav1.Condition{
			{Type: "Ready", Status: tt.status, Reason: "UnhealthyDependents", Message: "ValidationSucceeded=False"},
			{Type: "ValidationSucceeded", Status: tt.status, Reason: "Wrong", Message: "spec.x is wrong"},
		}
		if got := judgeClass(class, ref); got.Message != tt.want {
			t.Errorf("%s: %q, want %q", name, got.Message, tt.want)
		}
	}
}
