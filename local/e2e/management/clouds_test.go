package management

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

const ec2 = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ec2}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: KarpenterNodeRole-local
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: local}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: local}}]
`

// One controller has a NodePool of AWS and one of Cluster API. Pods get nodes of the NodePool with the higher weight. Without
// weights the price decides: when Machines become cheaper, consolidation replaces the instances by Machines.
func TestTwoCloudsInOneController(t *testing.T) {
	t.Parallel()
	s := newScene(t, "clouds")
	if out, err := workload.Local(t, ec2, "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	pool := s.Pool("ec2", apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "ec2"})
	pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements, apiv1.NodeSelectorRequirementWithMinValues{
		Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{apiv1.CapacityTypeOnDemand},
	})
	weight := int32(10)
	pool.Spec.Weight = &weight
	s.Put(workload, pool)
	t.Cleanup(func() {
		s.Scale(0)
		if err := workload.Delete(context.WithoutCancel(t.Context()), pool); err != nil {
			t.Error(err)
		}
		s.Poll(func(ctx context.Context) string {
			left := len(s.Claims(ctx, pool.Name))
			return machines.Missing(left == 0, "%d claims of AWS are left", left)
		})
		if out, err := workload.Local(t, ec2, "kubectl", "delete", "-f", "-"); err != nil {
			t.Error(out)
		}
	})
	s.AwaitPool(pool.Name, true)
	s.Deploy(6, "3")
	s.AwaitRunning(6)
	if of, machine := len(s.Claims(t.Context(), pool.Name)), len(s.Claims(t.Context(), s.Name)); of == 0 || machine > 0 {
		t.Errorf("%d claims of AWS and %d of Cluster API, want only AWS, which has the weight", of, machine)
	}

	var now apiv1.NodePool
	if err := workload.Get(t.Context(), client.ObjectKeyFromObject(pool), &now); err != nil {
		t.Fatal(err)
	}
	before := now.DeepCopy()
	now.Spec.Weight = nil
	if err := workload.Patch(t.Context(), &now, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	cheap(t, s)
	s.Poll(func(ctx context.Context) string {
		of, machine := len(s.Claims(ctx, pool.Name)), len(s.Claims(ctx, s.Name))
		return machines.Missing(of == 0 && machine > 0, "%d claims of AWS and %d of Cluster API, want only Cluster API, which is cheaper", of, machine)
	})
	s.AwaitRunning(6)
}

// cheap lowers the prices of the scene's templates to a tenth of a cent per CPU and hour, less than any instance of AWS.
func cheap(t *testing.T, s *machines.Scene) {
	t.Helper()
	var class clusterapiv1alpha1.ClusterAPINodeClass
	if err := workload.Get(t.Context(), client.ObjectKey{Name: s.Name}, &class); err != nil {
		t.Fatal(err)
	}
	for i := range class.Spec.Templates {
		template := &class.Spec.Templates[i]
		for size, cpu := range s.Sizes {
			if template.Name == s.Template(size) {
				template.Annotations[clusterapiv1alpha1.PriceAnnotationKey] = fmt.Sprint(0.001 * float64(cpu))
			}
		}
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"templates": class.Spec.Templates}})
	if err != nil {
		t.Fatal(err)
	}
	if err := workload.Patch(t.Context(), &class, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}
