package v1

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// UnmarshalJSON reads quantities by name. The pattern of the CRD allows quantities that resource.Quantity cannot hold, such as
// 1e1.5. Such a limit is 0, which allows no nodes. An error would keep the controller from reading any NodePool, because a
// list is decoded as a whole.
func (l *Limits) UnmarshalJSON(b []byte) error {
	var texts map[corev1.ResourceName]json.RawMessage
	if err := json.Unmarshal(b, &texts); err != nil {
		return fmt.Errorf("decode limits: %w", err)
	}
	if texts == nil {
		*l = nil
		return nil
	}
	limits := make(Limits, len(texts))
	for name, text := range texts {
		var q resource.Quantity
		if json.Unmarshal(text, &q) != nil {
			q = resource.Quantity{}
		}
		limits[name] = q
	}
	*l = limits
	return nil
}
