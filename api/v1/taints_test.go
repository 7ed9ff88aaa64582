package v1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestIsEphemeralTaint(t *testing.T) {
	for taint, want := range map[corev1.Taint]bool{
		{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}:                                        true,
		{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"}:                                         true,
		{Key: "node.kubernetes.io/unreachable", Effect: "NoSchedule"}:                                      true,
		{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute"}:                                       false,
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"}:       true,
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "false", Effect: "NoSchedule"}:      true,
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "PreferNoSchedule"}: false,
		{Key: "karpenter.sh/unregistered", Effect: "NoSchedule"}:                                           true,
		apiv1.UnregisteredNoExecuteTaint():                                                                 true,
		apiv1.DisruptedNoScheduleTaint():                                                                   false,
		{Key: "readiness.k8s.io/network-ready", Effect: "NoSchedule"}:                                      true,
		{Key: "example.com/gpu", Effect: "NoSchedule"}:                                                     false,
	} {
		if got := apiv1.IsEphemeralTaint(taint); got != want {
			t.Errorf("IsEphemeralTaint(%s) = %t", taint.ToString(), got)
		}
	}
}
