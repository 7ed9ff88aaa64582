package convert

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestObjects(t *testing.T) {
	old := schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1alpha5", Kind: "Provisioner"}
	now := schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}
	if c := (Objects{}); !c.Knows(old) || c.Knows(now) || c.Knows(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}) {
		t.Error("it does not know which kinds are old")
	}
	text, warnings, err := Objects{}.Convert([][]byte{
		[]byte(`{"apiVersion":"karpenter.sh/v1alpha5","kind":"Provisioner","metadata":{"name":"a"},"spec":{"providerRef":{"name":"c"},"kubeletConfiguration":{"maxPods":5}}}`),
		[]byte(`{"apiVersion":"karpenter.k8s.aws/v1alpha1","kind":"AWSNodeTemplate","metadata":{"name":"c"},"spec":{"instanceProfile":"p"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: NodePool", "kind: EC2NodeClass", "maxPods: 5"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(warnings) == 0 || !strings.HasPrefix(warnings[0], "Provisioner a: spec") {
		t.Errorf("warnings %q", warnings)
	}
}
