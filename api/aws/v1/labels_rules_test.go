package v1_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/crds"
)

var quotedKey = regexp.MustCompile(`'(` + regexp.QuoteMeta(awsv1.Group) + `/[a-z0-9-]+)'`)

// The CRDs of pools and claims list the labels of the AWS domain, because a
// schema cannot refer to the constants. The lists must have all of the
// constants.
func TestCRDsAllowTheWellKnownLabels(t *testing.T) {
	all := slices.DeleteFunc(slices.Sorted(keys()), outside)
	overlays := slices.DeleteFunc(slices.Clone(all), func(key string) bool {
		name := strings.TrimPrefix(key, awsv1.Group+"/")
		return name == "instance-tenancy" || strings.HasPrefix(name, "capacity-reservation-") ||
			strings.HasPrefix(name, "placement-group-")
	})
	if len(all) != 28 || len(overlays) != 22 {
		t.Errorf("%d labels, %d for overlays; want 28 and 22", len(all), len(overlays))
	}
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		rules int
		keys  []string
	}{"NodePool": {2, all}, "NodeClaim": {1, all}, "NodeOverlay": {1, overlays}}
	for _, crd := range list {
		found := rulesOn(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		if len(found) != want[crd.Spec.Names.Kind].rules {
			t.Errorf("%s has %d rules on %s, want %d", crd.Name, len(found), awsv1.Group, want[crd.Spec.Names.Kind].rules)
		}
		for _, got := range found {
			if diff := cmp.Diff(want[crd.Spec.Names.Kind].keys, got); diff != "" {
				t.Errorf("%s (-constants +CRD):\n%s", crd.Name, diff)
			}
		}
	}
}

func keys() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range awsv1.Labels().WellKnown {
			if !yield(key) {
				return
			}
		}
	}
}

func outside(key string) bool { return !strings.HasPrefix(key, awsv1.Group+"/") }

// rulesOn returns the labels in each rule that lists labels of the AWS domain.
func rulesOn(s *apiextensionsv1.JSONSchemaProps) [][]string {
	var found [][]string
	for _, rule := range s.XValidations {
		if !strings.Contains(rule.Rule, strings.ReplaceAll(awsv1.Group, ".", "[.]")) {
			continue
		}
		var list []string
		for _, match := range quotedKey.FindAllStringSubmatch(rule.Rule, -1) {
			list = append(list, match[1])
		}
		found = append(found, list)
	}
	for _, child := range s.Properties {
		found = append(found, rulesOn(&child)...)
	}
	if s.Items != nil {
		found = append(found, rulesOn(s.Items.Schema)...)
	}
	return found
}
