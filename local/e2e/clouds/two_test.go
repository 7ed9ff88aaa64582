package clouds

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// AWS and simulated nodes are provided by processes of their own. The NodePool with the higher weight is used first.
// Without weights, the cheaper cloud is used, and consolidation moves the pods to it. If one cloud does not answer, new
// pods get nodes of the other one.
// It runs last: a provider that was killed leaves NodeClaims.
func TestTwoCloudsBehindSockets(t *testing.T) {
	dir, err := os.MkdirTemp("", "clouds") // in the system's directory, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ec2, hollow := "unix://"+dir+"/aws", "unix://"+dir+"/kwok"
	run(t, "provider", "serve", "--provider=aws", "--listen="+ec2)
	killHollow := run(t, "provider", "serve", "--provider=kwok", "--listen="+hollow)
	run(t, "controller", "--provider=remote", "--provider-address="+ec2+","+hollow)

	// The NodePool of the quickstart has the higher weight. The quickstart is applied unchanged.
	demo, err := here.Local(t, "", "demo")
	if err != nil || !strings.Contains(demo, "10 of 10 Running") {
		t.Fatalf("the quickstart over a socket: %v\n%s", err, demo)
	}
	if out, err := here.Local(t, manifests, "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	pool := &apiv1.NodePool{}
	if err := here.Get(t.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
		t.Fatal(err)
	}
	if pool.Spec.Weight == nil || *pool.Spec.Weight == 0 {
		t.Fatal("the NodePool of the quickstart has no weight: this test shows nothing")
	}
	scale(t, 12)
	await(t, 12, "default")

	// Without the weight, the price decides. The nodes of AWS are replaced by the cheaper ones.
	before := pool.DeepCopy()
	pool.Spec.Weight = nil
	if err := here.Patch(t.Context(), pool, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	scale(t, 16)
	await(t, 16, "hollow")

	// The provider of the cheaper cloud is killed. New pods get nodes of the other cloud.
	killHollow()
	scale(t, 60)
	here.Poll(t, func(ctx context.Context) string {
		running, pools := landed(ctx, t)
		if running == 60 && pools["default"] > 0 {
			return ""
		}
		return fmt.Sprintf("%d of 60 pods run, nodes by NodePool: %v", running, pools)
	})
}
