package aws_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Dry runs use an instance type and a tenancy that the pools of the class may launch.
func TestRehearsalIsOfThePools(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reqs  []apiv1.NodeSelectorRequirementWithMinValues
		want  []string
		place string
	}{
		{"any type", nil, []string{"m5.large"}, awsv1.TenancyDefault},
		{"one family", []apiv1.NodeSelectorRequirementWithMinValues{only(awsv1.LabelInstanceFamily, "c6i")}, []string{"c6i.large"}, awsv1.TenancyDefault},
		{"metal only", []apiv1.NodeSelectorRequirementWithMinValues{only(corev1.LabelInstanceTypeStable, "m5.metal")}, []string{"m5.metal"}, awsv1.TenancyDefault},
		{"dedicated", []apiv1.NodeSelectorRequirementWithMinValues{only(awsv1.LabelInstanceTenancy, awsv1.TenancyDedicated)}, []string{"m5.large"}, awsv1.TenancyDedicated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorldSelling(t, "c6i.*", "m5.*")
			w.afterNew = func() {} // dry runs of launches are made
			pool := pool()
			pool.Spec.Template.Spec.Requirements = tt.reqs
			if err := w.kube.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			w.start(t)
			list, err := w.control.Calls(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, c := range list {
				switch {
				case c.Action == "CreateLaunchTemplate" && c.Params["LaunchTemplateData.Placement.Tenancy"] != tt.place:
					t.Errorf("tenancy is %q, want %q", c.Params["LaunchTemplateData.Placement.Tenancy"], tt.place)
				case c.Action == "CreateFleet":
					for key, v := range c.Params {
						if strings.HasSuffix(key, ".InstanceType") {
							types = append(types, v)
						}
					}
				}
			}
			slices.Sort(types)
			if got := slices.Compact(types); !slices.Equal(got, tt.want) {
				t.Errorf("rehearsed with %v, want %v", got, tt.want)
			}
		})
	}
}
