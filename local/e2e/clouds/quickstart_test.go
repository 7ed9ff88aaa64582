package clouds

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/objects"
)

var (
	rounds = flag.Int("rounds", 0, "how often the quickstart runs in the process and over a socket; 0 means once with KARPENTER_LONG=1, otherwise never")
	pods   = flag.Int("pods", 10, "how many pods the quickstart has")
)

// The published quickstart has the same result with AWS in the process of the controller and with AWS behind a socket: all pods
// run, on nodes of the same types, and all instances are terminated afterwards. The times are logged, and nothing is asserted
// about them.
func TestQuickstartOverSocket(t *testing.T) {
	if *rounds == 0 && os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1, or -rounds")
	}
	*rounds = max(1, *rounds)
	dir, err := os.MkdirTemp("", "clouds") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var up, down [2][]time.Duration
	var types [2][]string
	for round := range *rounds {
		for turn := range 2 {
			place := (round + turn) % 2 // each place is first in every other round
			up[place], down[place], types[place] = quickstart(t, filepath.Join(dir, fmt.Sprint(round)), place == 1, up[place], down[place])
		}
		if !slices.Equal(types[0], types[1]) {
			t.Errorf("instance types are %v in the process, and %v over a socket", types[0], types[1])
		}
	}
	for place, name := range []string{"in process", "over socket"} {
		t.Logf("%-11s  %d rounds of %d pods: all run after %v (median), all instances gone after %v (median)",
			name, *rounds, *pods, median(up[place]), median(down[place]))
	}
}

func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2].Round(10 * time.Millisecond)
}

// quickstart runs the quickstart once. It adds the time from the scale-up until all pods run to up, and the time from the
// scale-in until all NodeClaims are gone to down. It returns the types of the nodes.
func quickstart(t *testing.T, socket string, remote bool, up, down []time.Duration) (_, _ []time.Duration, types []string) {
	t.Helper()
	var kills []func()
	if remote {
		kills = append(kills, run(t, "provider", "serve", "--provider=aws", "--listen=unix://"+socket),
			run(t, "controller", "--provider=remote", "--provider-address=unix://"+socket))
	} else {
		kills = append(kills, run(t, "controller", "--provider=aws"))
	}
	example, err := objects.ReadDir("../../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range example {
		if err := objects.Apply(t.Context(), here, o); err != nil {
			t.Fatal(err)
		}
	}
	pool := &apiv1.NodePool{}
	here.Poll(t, func(ctx context.Context) string {
		if err := here.Get(ctx, client.ObjectKey{Name: "default"}, pool); err != nil {
			return err.Error()
		}
		if !condition.Ready(pool) {
			return fmt.Sprintf("NodePool has the conditions %+v", pool.Status.Conditions)
		}
		return ""
	})
	begun := time.Now()
	scale(t, *pods)
	var list corev1.PodList
	here.Await(t, &list, func() string {
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running == *pods {
			return ""
		}
		return fmt.Sprintf("%d of %d pods run", running, *pods)
	}, client.InNamespace("default"))
	up = append(up, time.Since(begun))
	var claims apiv1.NodeClaimList
	if err := here.List(t.Context(), &claims); err != nil {
		t.Fatal(err)
	}
	for i := range claims.Items {
		types = append(types, claims.Items[i].Labels[corev1.LabelInstanceTypeStable])
	}
	slices.Sort(types)
	begun = time.Now()
	scale(t, 0)
	here.Await(t, &claims, func() string {
		if len(claims.Items) > 0 {
			return fmt.Sprintf("%d NodeClaims are left", len(claims.Items))
		}
		return ""
	})
	down = append(down, time.Since(begun))
	for _, o := range example {
		o.SetResourceVersion("")
		if err := client.IgnoreNotFound(here.Delete(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	here.Poll(t, func(ctx context.Context) string { // the finalizer of the node class needs the provider
		for _, o := range example {
			if err := here.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%s %s is not gone (%v)", o.GetKind(), o.GetName(), err)
			}
		}
		return ""
	})
	for _, kill := range kills {
		kill()
	}
	return up, down, types
}
