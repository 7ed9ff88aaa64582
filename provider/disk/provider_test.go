package disk_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/cloudtest"
	"github.com/karpenter-go/karpenter/provider/disk"
)

// The provider passes the suite on an empty disk and an API server in memory.
func TestConformance(t *testing.T) { cloudtest.Run(t, open) }

func open(t *testing.T) *cloudtest.Harness {
	root, uids := t.TempDir(), 0
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(disk.NodeClassKind)
	class.SetName("default")
	kube := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(class).WithStatusSubresource(&apiv1.NodeClaim{}).Build()
	load := func(t *testing.T, name string) *apiv1.NodeClaim {
		var claim apiv1.NodeClaim
		if err := kube.Get(t.Context(), client.ObjectKey{Name: name}, &claim); err != nil {
			t.Fatal(err)
		}
		return &claim
	}
	pool := &apiv1.NodePool{}
	pool.Name = "default"
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: disk.NodeClassKind.Group, Kind: disk.NodeClassKind.Kind, Name: "default",
	}
	return &cloudtest.Harness{
		Pool: pool,
		Provider: func(*testing.T) cloud.Provider {
			return &disk.Provider{Root: root, Classes: kube, Clock: clock.RealClock{}}
		},
		Load: load,
		Store: func(t *testing.T, claim *apiv1.NodeClaim) {
			uids++
			claim.UID = types.UID(fmt.Sprintf("uid-%d", uids))
			if err := kube.Create(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		},
		Launched: func(t *testing.T, name string, i *cloud.Instance) {
			claim := load(t, name)
			claim.Status.ProviderID = i.ProviderID
			if err := kube.Status().Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		},
		Alive: func(t *testing.T) (n int) {
			entries, err := os.ReadDir(root)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), "uid-") {
					n++
				}
			}
			return n
		},
	}
}
