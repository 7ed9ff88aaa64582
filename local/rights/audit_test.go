package rights

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// A right is used if a request needed it for an object that it covers. Denied requests do not count.
func TestUnused(t *testing.T) {
	event := func(verb, group, resource, subresource, name, decision string) string {
		return fmt.Sprintf(`{"verb":%q,"objectRef":{"apiGroup":%q,"resource":%q,"subresource":%q,"name":%q},"annotations":{"authorization.k8s.io/decision":%q}}`,
			verb, group, resource, subresource, name, decision)
	}
	log := strings.Join([]string{
		event("list", "", "pods", "", "", "allow"), event("create", "", "pods", "eviction", "web-1", "allow"),
		event("patch", "coordination.k8s.io", "leases", "", "leader", "allow"), event("get", "", "secrets", "", "s", "forbid"),
		event("get", "", "configmaps", "", "other", "forbid"), `{"verb":"get","requestURI":"/readyz"}`,
	}, "\n")
	a, err := ReadAudit(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	granted := Granted([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"leader", "old"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	})
	if got, want := fmt.Sprint(a.Unused(granted)), "[get secrets patch leases.coordination.k8s.io/old watch pods]"; got != want {
		t.Errorf("unused are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(a.Denied), "[get configmaps/other get secrets/s]"; got != want {
		t.Errorf("denied are %s, want %s", got, want)
	}
	if _, err := ReadAudit(strings.NewReader("{")); err == nil {
		t.Error("half a line is no error")
	}
}
