package operator

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A process ends once the Lease has an older version than before. Equal versions, later ones, and versions that are not numbers
// are no reason.
func TestRestoredLease(t *testing.T) {
	for name, tt := range map[string]struct {
		versions []string // of the responses to get, update, get, and so on
		restored bool
	}{
		"later versions":              {versions: []string{"7", "8", "8", "10"}},
		"a restored one":              {versions: []string{"7", "9", "8"}, restored: true},
		"a longer number":             {versions: []string{"999", "1000"}},
		"restored, with fewer digits": {versions: []string{"1000", "999"}, restored: true},
		"no numbers":                  {versions: []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := 0
			kube := fake.NewClientset()
			kube.PrependReactor("*", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
				next++
				return true, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader", ResourceVersion: tt.versions[next-1]}}, nil
			})
			var got error
			lock := resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Name: "leader"},
				Client:    &leases{LeasesGetter: kube.CoordinationV1(), restored: func(err error) { got = err }},
			}
			for n := range tt.versions {
				var err error
				if n%2 == 0 {
					_, _, err = lock.Get(t.Context())
				} else {
					err = lock.Update(t.Context(), resourcelock.LeaderElectionRecord{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if (got != nil) != tt.restored {
				t.Errorf("the process ends because of %v, want an end: %t", got, tt.restored)
			}
		})
	}
}
