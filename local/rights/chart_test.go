package rights

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-go/karpenter/local/chart"
)

// everything has the values with which the chart grants the most rights.
var everything = map[string]any{
	"settings": map[string]any{
		"clusterName": "demo", "schedulerConfig": "defaultingType: List", "enableDRA": true,
		"featureGates": map[string]any{
			"nodeRepair": true, "nodeOverlay": true, "staticCapacity": true, "capacityBuffer": true, "podDeletionCostManagement": true,
		},
	},
	"controller": map[string]any{"metrics": map[string]any{"authentication": true, "tls": map[string]any{"enabled": true}}},
}

// The token of the controller gives no further rights: to run pods, read secrets, issue tokens, change roles or
// admission, impersonate users, or reach kubelets.
func TestTokenGrantsNoFurtherRights(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"default": {"settings": map[string]any{"clusterName": "demo"}}, "kwok": {"settings": map[string]any{"provider": "kwok"}}, "everything": everything,
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Render("../../charts/karpenter", chart.Release{
				Name: "karpenter", Namespace: "kube-system", Kubernetes: "v1.36.3", Values: values,
			})
			if err != nil {
				t.Fatal(err)
			}
			rules := 0
			for _, o := range objects {
				if !strings.HasSuffix(o.GetKind(), "Role") {
					continue
				}
				var role rbacv1.ClusterRole // the rules of a Role have the same form
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
					t.Fatal(err)
				}
				if l := o.GetLabels(); l["rbac.authorization.k8s.io/aggregate-to-admin"] == "true" || l["rbac.authorization.k8s.io/aggregate-to-view"] == "true" {
					continue // a role for users, not for the controller
				}
				for _, r := range role.Rules {
					rules++
					for _, objection := range furtherRights(r) {
						t.Errorf("%s %s: %s: %+v", o.GetKind(), o.GetName(), objection, r)
					}
				}
			}
			if rules < 10 {
				t.Errorf("only %d rules were checked", rules)
			}
		})
	}
}

// furtherRights returns why a rule would let its subject get rights that the rule does not name.
func furtherRights(r rbacv1.PolicyRule) (objections []string) {
	has := func(list []string, any ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return s == "*" || slices.Contains(any, s) })
	}
	creates := has(r.Verbs, "create")
	writes := has(r.Verbs, "create", "update", "patch", "delete", "deletecollection")
	for _, c := range []struct {
		why string
		bad bool
	}{
		{"a wildcard", has(slices.Concat(r.Verbs, r.Resources, r.APIGroups))},
		{"a verb that grants or takes over rights", has(r.Verbs, "escalate", "bind", "impersonate", "approve", "sign")},
		{"secrets can be read", has(r.Resources, "secrets")},
		{"pods can be run", creates && has(r.Resources, "pods", "deployments", "daemonsets", "replicasets", "statefulsets", "jobs", "cronjobs")},
		{"pods can be changed", has(r.Verbs, "update") && has(r.Resources, "pods")},
		{"commands can be run", has(r.Resources, "pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "nodes/proxy", "services/proxy")},
		{"tokens can be issued", has(r.Resources, "serviceaccounts/token", "certificatesigningrequests")},
		{"rights or admission can be changed", writes && has(r.APIGroups, "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io")},
		{"any ConfigMap can be changed or read", has(r.Resources, "configmaps") && !slices.Equal(r.Verbs, []string{"create"}) && len(r.ResourceNames) == 0},
	} {
		if c.bad {
			objections = append(objections, c.why)
		}
	}
	return objections
}

// furtherRights detects each such rule.
func TestFurtherRightsAreSeen(t *testing.T) {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	for _, r := range []rbacv1.PolicyRule{
		rule("", "*", "get"), rule("", "nodes", "*"), rule("", "secrets", "get"), rule("", "pods", "create"), rule("", "pods", "update"),
		rule("", "pods/exec", "create"), rule("", "nodes/proxy", "get"), rule("", "serviceaccounts/token", "create"), rule("", "users", "impersonate"),
		rule("rbac.authorization.k8s.io", "clusterroles", "patch"), rule("", "configmaps", "get"), rule("apps", "deployments", "create"),
	} {
		if len(furtherRights(r)) == 0 {
			t.Errorf("not seen: %+v", r)
		}
	}
	if got := furtherRights(rule("", "pods", "get", "delete")); len(got) > 0 {
		t.Errorf("objections to a harmless rule: %v", got)
	}
}
