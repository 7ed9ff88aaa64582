package model

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// The refusal of a NodePool that is not ready says why, not only which of its conditions is False.
func TestNotReadyHasTheCause(t *testing.T) {
	object := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	object.Status.Conditions = []metav1.Condition{
		{Type: apiv1.ConditionTypeNodeClassReady, Status: metav1.ConditionFalse, Message: "EC2NodeClass default is not ready: no subnet matches"},
		{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionFalse, Message: "NodeClassReady=False"},
	}
	pool := &Pool{Name: "default", Object: object}
	if got := pool.Ready().String(); !strings.Contains(got, "no subnet matches") {
		t.Errorf("refusal %q, want the message of NodeClassReady", got)
	}
}
