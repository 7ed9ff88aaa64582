package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
)

// A capacity that cannot be parsed makes its NodeOverlay invalid. It does not prevent the decoding of other
// NodeOverlays.
func TestUnreadableCapacity(t *testing.T) {
	var overlays overlayv1alpha1.NodeOverlayList
	text := `{"items": [
		{"metadata": {"name": "bad"}, "spec": {"requirements": [], "capacity": {"example.com/fpga": "1e1.5", "example.com/nic": 2}}},
		{"metadata": {"name": "good"}, "spec": {"requirements": [], "price": "0.5", "weight": 7, "capacity": {"example.com/fpga": "1"}}},
		{"metadata": {"name": "none"}, "spec": {"requirements": []}}]}`
	if err := json.Unmarshal([]byte(text), &overlays); err != nil {
		t.Fatal(err)
	}
	bad, good, none := overlays.Items[0], overlays.Items[1], overlays.Items[2]
	rules := apiv1.LabelRules{}
	if err := bad.Validate(rules); err == nil || !strings.Contains(err.Error(), "spec.capacity[example.com/fpga]") {
		t.Errorf("the NodeOverlay with an unreadable capacity is valid, or the field is not named: %v", err)
	}
	if q := bad.Spec.Capacity["example.com/nic"]; q.Value() != 2 {
		t.Errorf("the other capacity is %s, want 2", q.String())
	}
	if err := good.Validate(rules); err != nil {
		t.Errorf("the valid NodeOverlay is refused: %v", err)
	}
	if q := good.Spec.Capacity["example.com/fpga"]; q.Value() != 1 || *good.Spec.Price != "0.5" || *good.Spec.Weight != 7 {
		t.Errorf("the spec is %+v", good.Spec)
	}
	if none.Spec.Capacity != nil {
		t.Errorf("the capacity is %v, want none", none.Spec.Capacity)
	}
	if err := json.Unmarshal([]byte(`{"items": [{"spec": {"capacity": ["cpu"]}}]}`), &overlays); err == nil {
		t.Error("a list is read as a capacity")
	}
}
