package management

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

const other = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: other}
`

// While the management cluster does not answer, its nodes and their pods stay. After a minute its NodePool says why it gets no
// nodes, and pods go to another provider's NodePool. That also holds for a controller that starts meanwhile. After the management
// cluster answers again, new pods get Machines, and nothing has to be done by hand.
func TestOutageOfTheManagementCluster(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
	s := newScene(t, "outage")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSizes("small")[0]
	prefer(t, s)
	if out, err := workload.Local(t, other, "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	pool := s.Pool("other", apiv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "other"})
	s.Put(workload, pool)
	t.Cleanup(func() {
		s.Scale(0)
		if err := workload.Delete(context.WithoutCancel(t.Context()), pool); err != nil {
			t.Error(err)
		}
		s.Poll(func(ctx context.Context) string {
			left := len(s.Claims(ctx, pool.Name))
			return machines.Missing(left == 0, "%d claims of the other NodePool are left", left)
		})
	})
	s.AwaitPool(pool.Name, true)

	restore := func() {
		if err := manager.Cluster.Up(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := manager.Cluster.Kill(t.Context(), "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restore)
	unready := s.AwaitPool(s.Name, false)
	if text := fmt.Sprintf("%+v", unready.Status.Conditions); !strings.Contains(text, "The management cluster does not answer: ") {
		t.Errorf("the conditions of the NodePool do not say that the management cluster does not answer: %s", text)
	}
	var class clusterapiv1alpha1.ClusterAPINodeClass
	if err := workload.Get(t.Context(), client.ObjectKey{Name: s.Name}, &class); err != nil {
		t.Fatal(err)
	}
	why := condition.Get(&class, clusterapiv1alpha1.ConditionTypeClusterReady)
	if why == nil || why.Reason != clusterapiv1alpha1.ReasonNotReachable {
		t.Errorf("the condition of the class is %+v, want the reason %s", why, clusterapiv1alpha1.ReasonNotReachable)
	}
	s.Scale(12)
	s.AwaitRunning(12)
	if len(s.Claims(t.Context(), pool.Name)) == 0 {
		t.Error("pods run, but the other NodePool has no claims")
	}
	s.Stop()
	s.Start()
	s.Scale(30)
	s.AwaitRunning(30)
	var now apiv1.NodeClaim
	if err := workload.Get(t.Context(), client.ObjectKeyFromObject(&claim), &now); err != nil || now.DeletionTimestamp != nil {
		t.Errorf("the claim of the Machine did not survive the outage: %v", err)
	}

	restore()
	s.AwaitPool(s.Name, true)
	before := len(s.Claims(t.Context(), pool.Name))
	s.Scale(60)
	s.AwaitRunning(60)
	if after := len(s.Claims(t.Context(), pool.Name)); after > before {
		t.Errorf("the other NodePool has %d claims instead of %d, although that of Cluster API has the higher weight", after, before)
	}
	if len(s.Claims(t.Context(), s.Name)) < 2 {
		t.Error("there are no new Machines after the outage")
	}
}

// prefer gives the NodePool of the scene a weight, without which the cheaper types of the simulated nodes would be used at once.
// Its nodes are not consolidated, because that would move their pods to those types.
func prefer(t *testing.T, s *machines.Scene) {
	t.Helper()
	var pool apiv1.NodePool
	if err := workload.Get(t.Context(), client.ObjectKey{Name: s.Name}, &pool); err != nil {
		t.Fatal(err)
	}
	before, weight := pool.DeepCopy(), int32(10)
	pool.Spec.Weight = &weight
	pool.Spec.Disruption.ConsolidationPolicy, pool.Spec.Disruption.ConsolidateAfter.Duration = apiv1.ConsolidationPolicyWhenEmpty, nil
	if err := workload.Patch(t.Context(), &pool, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
