package v1

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Keys of Karpenter's own taints.
const (
	// DisruptedTaintKey excludes new pods from a node that is being removed.
	DisruptedTaintKey = Group + "/disrupted"
	// UnregisteredTaintKey is on a node from boot until registration.
	UnregisteredTaintKey = Group + "/unregistered"
	// RebootingTaintKey is on a node from the request of a reboot until the node has booted again.
	RebootingTaintKey = Group + "/rebooting"
)

// DisruptedNoScheduleTaint is the taint of a node that is being removed.
func DisruptedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// RebootingNoScheduleTaint is the taint of a node that reboots.
func RebootingNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: RebootingTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredNoExecuteTaint is the taint with which a provider starts nodes.
func UnregisteredNoExecuteTaint() corev1.Taint {
	return corev1.Taint{Key: UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
}

// IsEphemeralTaint reports whether a taint is set at the start of a node and is
// removed before or with its initialization. Such a taint does not exclude pods
// from a node that is not yet initialized. Values are not compared.
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
// has initialized the node. k8s.io/cloud-provider/api declares the key too, but
// is not imported, to save a dependency.
const cloudUninitializedTaintKey = "node.cloudprovider.kubernetes.io/uninitialized"
