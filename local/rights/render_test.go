package rights

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenter-go/karpenter/local/chart"
)

var release = chart.Release{
	Name: "mine", Namespace: "system", Kubernetes: "v1.36.3",
	Values: map[string]any{
		"account": "robot",
		"extra":   []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}},
	},
}

// Render returns the rights that Helm would install, ServiceAccounts first, and no other objects.
func TestRender(t *testing.T) {
	objects, err := Render("testdata/chart", release)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	want := []string{
		"ServiceAccount system/mine-robot", "ClusterRole /mine-robot", "ClusterRoleBinding /mine-robot",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	rules, _, err := unstructured.NestedSlice(objects[1].Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(release.Values["extra"], any(rules)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	account, err := ServiceAccount(objects)
	if err != nil {
		t.Fatal(err)
	}
	if got := account.GetAnnotations()["server"]; got != "v1.36.3" {
		t.Errorf("templates saw Kubernetes %q", got)
	}
}

func TestRenderSaysWhatIsWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		dir     string
		release chart.Release
		want    string
	}{
		"no chart":        {"testdata/none", release, "load chart"},
		"strange version": {"testdata/chart", chart.Release{Kubernetes: "new"}, "parse Kubernetes version"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Render(tt.dir, tt.release)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := ServiceAccount(nil); err == nil {
		t.Error("found an account among nothing")
	}
}
