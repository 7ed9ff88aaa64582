package convert

import "testing"

func TestIsLegacy(t *testing.T) {
	for name, tt := range map[string]struct {
		apiVersion, kind, object string
		want                     bool
	}{
		"an older kind":            {"karpenter.sh/v1alpha5", "Provisioner", `{}`, true},
		"v1":                       {"karpenter.sh/v1", "NodePool", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","spec":{}}`, false},
		"v1 with older fields":     {"karpenter.sh/v1", "NodePool", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","spec":{"template":{"spec":{"kubelet":{"maxPods":5}}}}}`, true},
		"another kind":             {"v1", "Pod", `{"spec":{"template":{"spec":{"kubelet":{}}}}}`, false},
		"nothing that can be read": {"karpenter.sh/v1", "NodePool", `{`, false},
		"a field that no API had":  {"karpenter.sh/v1", "NodePool", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","spec":{"x":1}}`, false},
		"an empty older field":     {"karpenter.sh/v1", "NodePool", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","spec":{"provider":null}}`, false},
	} {
		if got := IsLegacy(tt.apiVersion, tt.kind, []byte(tt.object)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
