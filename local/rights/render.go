package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/karpenter-go/karpenter/local/chart"
)

// kinds are the kinds of objects that define rights, in the order in which they are created: a binding comes after its
// role and account.
var kinds = []string{"ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}

// Render renders the chart in dir and returns its rights, ordered by kind and name. Namespaced objects without a
// namespace get that of the release.
func Render(dir string, r chart.Release) ([]*unstructured.Unstructured, error) {
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	files, err := chart.Render(loaded, r)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue // notes, and templates that other templates use
		}
		found, err := parse(files[name], r.Namespace)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	slices.SortStableFunc(objects, compare)
	return objects, nil
}

// parse returns the rights in a rendered file.
func parse(text, namespace string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		object := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		kind := object.GetKind()
		if !slices.Contains(kinds, kind) {
			continue
		}
		if object.GetNamespace() == "" && !strings.HasPrefix(kind, "Cluster") {
			object.SetNamespace(namespace)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func compare(a, b *unstructured.Unstructured) int {
	if c := slices.Index(kinds, a.GetKind()) - slices.Index(kinds, b.GetKind()); c != 0 {
		return c
	}
	return strings.Compare(a.GetName(), b.GetName())
}

// ServiceAccount returns the only ServiceAccount among objects.
func ServiceAccount(objects []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var accounts []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" {
			accounts = append(accounts, object)
		}
	}
	if len(accounts) != 1 {
		return nil, fmt.Errorf("find service account: the chart makes %d of them, want 1", len(accounts))
	}
	return accounts[0], nil
}
