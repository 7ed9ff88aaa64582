package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A pod with shared containers equals the pod decoded as a whole. Pods with equal containers share them.
func TestShare(t *testing.T) {
	s := &sharer{}
	var first *corev1.Pod
	for i, data := range []string{
		`{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "nodeName": "n"}}`,
		`{"spec": {"hostNetwork": true, "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}, "metadata": {"name": "b"}}`,
	} {
		got, ok := s.pod([]byte("  " + data)[2:])
		var want corev1.Pod
		if err := utiljson.Unmarshal([]byte(data), &want); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("pod %d (-want +got):\n%s", i, diff)
		}
		if first == nil {
			first = got
		} else if &first.Spec.Containers[0] != &got.Spec.Containers[0] {
			t.Error("like pods do not share their containers")
		}
	}
	for _, data := range []string{
		`{"metadata": {}}`, `{"spec": {}}`, `{"spec": {"containers": 1}}`, `{"spec": {"containers": [{"name": 1}]}}`, `{"spec": {"containers": []`,
		`{"spec": {"containers": [], "containers": []}}`, `{"spec": {"containers": [], "nodeName": 7}}`, `[]`,
	} {
		if p, ok := s.pod([]byte(data)); ok {
			t.Errorf("%s was read as %v", data, p)
		}
	}
}
