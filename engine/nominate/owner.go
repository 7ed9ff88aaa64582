package nominate

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// FieldManager is the field manager of nominations. metadata.managedFields keeps it, so a restarted program recognizes
// its own nominations.
const FieldManager = "karpenter-nomination"

// mayChange reports whether the pod's nomination differs from want and is empty or written by this program.
func mayChange(p *model.Pod, want string) bool {
	have := p.Object.Status.NominatedNodeName
	return have != want && (have == "" || isOwn(p.Object))
}

// nominatedField is the path of the nomination in a managedFields entry.
var nominatedField = []byte(`"f:nominatedNodeName"`)

// isOwn reports whether this program wrote the pod's nomination.
func isOwn(o *corev1.Pod) bool {
	for i := range o.ManagedFields {
		f := &o.ManagedFields[i]
		if f.Manager == FieldManager && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), nominatedField) {
			return true
		}
	}
	return false
}
