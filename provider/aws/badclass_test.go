package aws_test

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// class returns the stored node class.
func (w *world) class(t *testing.T) *awsv1.EC2NodeClass {
	t.Helper()
	var class awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		t.Fatal(err)
	}
	return &class
}

// respec changes the spec of the node class as a user does, and reconciles the class.
func (w *world) respec(t *testing.T, change func(*awsv1.EC2NodeClassSpec)) *awsv1.EC2NodeClass {
	t.Helper()
	class := w.class(t)
	change(&class.Spec)
	class.Generation++ // the API server does that
	if err := w.kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclass", "default")
	return w.class(t)
}

// The status of an invalid node class names the field, and nothing is launched. It is ready as soon as the field is corrected.
func TestBadClasses(t *testing.T) {
	w := newWorld(t)
	w.afterNew = func() {} // dry runs of launches are made
	p := w.start(t)
	good := w.class(t).Spec
	for _, tt := range []struct {
		name, kind, reason, field string
		change                    func(*awsv1.EC2NodeClassSpec)
	}{
		{"no such image", awsv1.ConditionTypeAMIsReady, awsv1.ReasonAMINotFound, "spec.amiSelectorTerms", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms, s.AMIFamily = []awsv1.AMISelectorTerm{{ID: "ami-0"}}, ptr.To("AL2023")
		}},
		{"an alias of no version", awsv1.ConditionTypeAMIsReady, awsv1.ReasonAMINotFound, "spec.amiSelectorTerms", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@v19700101"}}
		}},
		{"no subnet", awsv1.ConditionTypeSubnetsReady, awsv1.ReasonSubnetsNotFound, "spec.subnetSelectorTerms", func(s *awsv1.EC2NodeClassSpec) {
			s.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-0"}}
		}},
		{"no security group", awsv1.ConditionTypeSecurityGroupsReady, awsv1.ReasonSecurityGroupsNotFound, "spec.securityGroupSelectorTerms", func(s *awsv1.EC2NodeClassSpec) {
			s.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Name: "none"}}
		}},
		{"no such role", awsv1.ConditionTypeInstanceProfileReady, awsv1.ReasonRoleNotFound, "spec.role", func(s *awsv1.EC2NodeClassSpec) {
			s.Role = "nobody"
		}},
		{"no such profile", awsv1.ConditionTypeValidationSucceeded, awsv1.ReasonInstanceProfileNotFound, "spec.instanceProfile", func(s *awsv1.EC2NodeClassSpec) {
			s.Role, s.InstanceProfile = "", ptr.To("nobody")
		}},
		{"user data too long", awsv1.ConditionTypeValidationSucceeded, awsv1.ReasonUserDataSizeLimitExceeded, "spec.userData", func(s *awsv1.EC2NodeClassSpec) {
			s.UserData = ptr.To(strings.Repeat("# long\n", 3000))
		}},
		{"MIME without an end", awsv1.ConditionTypeValidationSucceeded, awsv1.ReasonInvalidUserData, "spec.userData", func(s *awsv1.EC2NodeClassSpec) {
			s.UserData = ptr.To("Content-Type: multipart/mixed\n\nno boundary")
		}},
		{"TOML that is none", awsv1.ConditionTypeValidationSucceeded, awsv1.ReasonInvalidUserData, "spec.userData", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms, s.UserData = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}, ptr.To("[settings\nmax-pods = ")
		}},
		{"a tag of ours", awsv1.ConditionTypeValidationSucceeded, awsv1.ReasonTagValidationFailed, "spec.tags", func(s *awsv1.EC2NodeClassSpec) {
			s.Tags = map[string]string{"karpenter.sh/nodepool": "mine"}
		}},
		{"no placement group", awsv1.ConditionTypePlacementGroupReady, awsv1.ReasonPlacementGroupNotFound, "spec.placementGroupSelector", func(s *awsv1.EC2NodeClassSpec) {
			s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "none"}
		}},
	} {
		class := w.respec(t, func(s *awsv1.EC2NodeClassSpec) { good.DeepCopyInto(s); tt.change(s) })
		c := condition.Get(class, tt.kind)
		if c == nil || c.Reason != tt.reason || c.Status != "False" || !strings.Contains(c.Message, tt.field) || len(c.Message) > 300 {
			t.Errorf("%s: condition is %+v, want %s about %s", tt.name, c, tt.reason, tt.field)
		}
		claim := w.claim("bad")
		w.store(t, claim)
		var notReady *cloud.NodeClassNotReadyError
		if _, err := p.Create(t.Context(), claim); !errors.As(err, &notReady) {
			t.Errorf("%s: create gives %v", tt.name, err)
		}
		if err := w.kube.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if class = w.respec(t, func(s *awsv1.EC2NodeClassSpec) { good.DeepCopyInto(s) }); !condition.Ready(class) {
			t.Errorf("%s: put right, the class is %+v", tt.name, class.Status.Conditions)
		}
	}
	if n := len(w.alive(t)); n != 0 {
		t.Errorf("%d instances were launched", n)
	}
	c := w.claimFor(t, "good", "m5.large")
	create(t, p, c)
}

// The endpoints of some services do not exist or return HTML pages. Steps that do not need these services succeed. Each
// other step reports the problem in one sentence.
func TestForeignServices(t *testing.T) {
	w := newWorld(t)
	w.afterNew = func() {
		for _, op := range []string{"DescribeCapacityReservations", "DescribePlacementGroups", "pricing:*", "DescribeSpotPriceHistory", "DescribeInstanceStatus"} {
			if err := w.control.Fail(t.Context(), control.Fail{Op: op, Code: "html"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := w.start(t)
	class := w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	})
	c := condition.Get(class, awsv1.ConditionTypeCapacityReservationsReady)
	if !condition.Ready(class) || c.Reason != awsv1.ReasonReservationsNotListed || !strings.Contains(c.Message, "DescribeCapacityReservations: unexpected HTTP 500") {
		t.Errorf("without reservations: ready %v, condition %+v", condition.Ready(class), c)
	}
	claim := w.claim("a")
	w.store(t, claim)
	i := create(t, p, claim)
	if _, err := p.Get(t.Context(), i.ProviderID); err != nil {
		t.Error(err)
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("list is %v, %v", list, err)
	}
	w.launched(t, "a", i)
	if err := p.Delete(t.Context(), w.load(t, "a")); err != nil {
		t.Error(err)
	}
	class = w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "rack"}
	})
	c = condition.Get(class, awsv1.ConditionTypePlacementGroupReady)
	if condition.Ready(class) || c.Reason != awsv1.ReasonPlacementGroupResolutionFailed ||
		c.Message != "spec.placementGroupSelector: EC2 DescribePlacementGroups: unexpected HTTP 500 response, not from AWS: check proxy and endpoint settings" {
		t.Errorf("without placement groups: ready %v, condition %+v", condition.Ready(class), c)
	}
}
