package sim

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

var _ = appsv1.Deployment{}

func TestSpike(t *testing.T) {
	runtime.GOMAXPROCS(1)
	synctest.Test(t, func(t *testing.T) {
		w, err := New(Options{Seed: 1, LogLevel: "info", Log: os.Stderr, Sells: []string{"m5.*", "c5.*"}, Trace: os.Stderr, Args: []string{"--disable-leader-election=true"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		class := &awsv1.EC2NodeClass{}
		if err := yaml.Unmarshal([]byte(`
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]
  role: KarpenterNodeRole-sim
`), class); err != nil {
			t.Fatal(err)
		}
		pool := &apiv1.NodePool{}
		if err := yaml.Unmarshal([]byte(`
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
`), pool); err != nil {
			t.Fatal(err)
		}
		for _, o := range []interface{}{class, pool} {
			switch o := o.(type) {
			case *awsv1.EC2NodeClass:
				err = w.Client.Create(ctx, o)
			case *apiv1.NodePool:
				err = w.Client.Create(ctx, o)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			pod := &corev1.Pod{ObjectMeta: objectMeta("default", fmt.Sprint("p", i))}
			pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m")}}}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			if err := w.Client.Create(ctx, pod); err != nil {
				t.Fatal(err)
			}
		}
		w.start("a")
		w.Run(3 * time.Minute)
		for _, c := range kubeapi.List[*apiv1.NodeClaim](w.Server) {
			t.Log(c.Name, c.Status.ProviderID, c.Status.NodeName, c.Status.Conditions)
		}
		for _, r := range w.replicas {
			t.Log(r.done.Load(), r.err)
		}
		w.Close()
		t.Log(w.trace.Hash(), w.trace.Lines())
	})
}
