package clouds

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	"github.com/karpenter-go/karpenter/local/objects"
)

// provider check passes for AWS and for simulated nodes behind a socket, with NodeClaims in a real cluster.
func TestCheckOfServedProviders(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
	dir, err := os.MkdirTemp("", "clouds") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	example, err := objects.ReadDir("../../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range example {
		if err := objects.Apply(t.Context(), here, o); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := here.Local(t, manifests, "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	for provider, pool := range map[string]string{"aws": "default", "kwok": "hollow"} {
		address := "unix://" + dir + "/" + provider
		kill := run(t, "provider", "serve", "--provider="+provider, "--listen="+address)
		if provider == "aws" {
			here.Poll(t, func(ctx context.Context) string {
				class := &awsv1.EC2NodeClass{}
				if err := here.Get(ctx, client.ObjectKey{Name: "default"}, class); err != nil || !condition.Ready(class) {
					return fmt.Sprintf("the node class is not ready: %+v (%v)", class.Status.Conditions, err)
				}
				return ""
			})
		}
		out, err := here.Program(t, "", "karpenter", "provider", "check", address, "--nodepool", pool)
		if err != nil || !strings.Contains(out, "All 19 checks passed or were skipped.") {
			t.Errorf("check of %s: %v\n%s", provider, err, out)
		}
		kill()
	}
}
