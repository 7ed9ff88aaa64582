package v1alpha1

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// unreadable is the amount of a quantity that cannot be read. Validate refuses it, as any negative amount.
var unreadable = resource.MustParse("-1")

// UnmarshalJSON reads a spec. The pattern of the CRD allows quantities that resource.Quantity cannot hold, such as 1e1.5. Such an
// amount of spec.capacity is -1, which Validate refuses. An error would keep the controller from reading any NodeOverlay, because a
// list is decoded as a whole.
func (s *NodeOverlaySpec) UnmarshalJSON(b []byte) error {
	type plain NodeOverlaySpec
	read := struct {
		*plain   `json:",inline"`
		Capacity map[corev1.ResourceName]json.RawMessage `json:"capacity"`
	}{plain: (*plain)(s)}
	s.Capacity = nil
	if err := json.Unmarshal(b, &read); err != nil {
		return fmt.Errorf("decode spec of NodeOverlay: %w", err)
	}
	if read.Capacity == nil {
		return nil
	}
	s.Capacity = make(corev1.ResourceList, len(read.Capacity))
	for name, text := range read.Capacity {
		var q resource.Quantity
		if json.Unmarshal(text, &q) != nil {
			q = unreadable.DeepCopy()
		}
		s.Capacity[name] = q
	}
	return nil
}
