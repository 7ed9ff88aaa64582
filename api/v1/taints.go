package v1

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Keys of Karpenter's own taints.
const (
	// DisruptedTaintKey keeps new pods off a node that is going away.
	DisruptedTaintKey = Group + "/disrupted"
	// UnregisteredTaintKey is on a node from boot until registration.
	UnregisteredTaintKey = Group + "/unregistered"
	// RebootingTaintKey is on a node from the request of a reboot until the node has booted again.
	RebootingTaintKey = Group + "/rebooting"
)

// DisruptedNoScheduleTaint is the taint of a node that is going away.
func DisruptedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// RebootingNoScheduleTaint is the taint of a node that reboots.
func RebootingNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: RebootingTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredNoExecuteTaint is the taint a provider boots nodes with.
func UnregisteredNoExecuteTaint() corev1.Taint {
	return corev1.Taint{Key: UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
}

// IsEphemeralTaint reports whether a taint comes with the start of a node and
// goes by itself, so that it must not count against a node that is not yet
// initialized. Values are not compared.
func IsEphemeralTaint(t corev1.Taint) bool {
	if strings.HasPrefix(t.Key, ReadinessTaintPrefix) {
		return true
	}
	switch t.Effect {
	case corev1.TaintEffectNoSchedule:
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable ||
			t.Key == cloudUninitializedTaintKey || t.Key == UnregisteredTaintKey
	case corev1.TaintEffectNoExecute:
		return t.Key == corev1.TaintNodeNotReady || t.Key == UnregisteredTaintKey
	}
	return false
}

// cloudUninitializedTaintKey is on a node until the cloud controller manager
// has seen it (k8s.io/cloud-provider/api declares it; not worth the import).
const cloudUninitializedTaintKey = "node.cloudprovider.kubernetes.io/uninitialized"
