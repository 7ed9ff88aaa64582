package dashboard

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

var binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")

// During a scale-up, the page shows the new nodes without a reload, explains them, and replays them from the history. After
// a restart of the controller, it connects again.
func TestLive(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
	browser := prepare(t)
	c, kube := start(t)
	furnish(t, kube)
	recorded, err := c.Dir().Load()
	if err != nil {
		t.Fatal(err)
	}
	control := httptest.NewServer(steer{c, kube})
	t.Cleanup(control.Close)
	node(t, "browser", "CHROMIUM="+browser, "DASHBOARD_URL=http://"+recorded.Address("karpenter-dashboard")+"/", "CONTROL_URL="+control.URL)
}

func start(t *testing.T) (*cluster.Cluster, client.Client) {
	t.Helper()
	r := rig.Rig{Binaries: *binaries, Chart: "../../../charts/karpenter", Settings: state.Settings{Provider: "kwok"}}
	c, err := r.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	kube, err := rig.Client(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, kube
}

// furnish creates a NodePool of small nodes that are never disrupted.
func furnish(t *testing.T, kube client.Client) {
	t.Helper()
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: 3 * time.Second}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("Never")
	pool.Spec.Template.Spec = apiv1.NodeClaimTemplateSpec{
		NodeClassRef: &apiv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"},
		Requirements: []apiv1.NodeSelectorRequirementWithMinValues{
			{Key: "karpenter.kwok.sh/instance-cpu", Operator: corev1.NodeSelectorOpIn, Values: []string{"2", "4"}},
		},
	}
	for _, o := range []client.Object{class, pool} {
		if err := kube.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T: %v", o, err)
		}
	}
}

// A steer is an HTTP handler by which the tests in the browser change the cluster.
type steer struct {
	cluster *cluster.Cluster
	kube    client.Client
}

func (s steer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.URL.Path {
	case "/workload":
		err = s.workload(r)
	case "/restart":
		err = s.cluster.Kill(r.Context(), cluster.ControllerName)
	case "/start":
		err = s.cluster.Up(r.Context())
	default:
		err = fmt.Errorf("there is no %s", r.URL.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// workload creates a Deployment. The request has its name, its replicas and the cpu of each pod.
func (s steer) workload(r *http.Request) error {
	q := r.URL.Query()
	replicas, err := strconv.ParseInt(q.Get("replicas"), 10, 32)
	if err != nil {
		return fmt.Errorf("parse replicas: %w", err)
	}
	amount, err := resource.ParseQuantity(q.Get("cpu"))
	if err != nil {
		return fmt.Errorf("parse cpu: %w", err)
	}
	labels := map[string]string{"app": q.Get("name")}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: q.Get("name"), Namespace: metav1.NamespaceDefault}}
	d.Spec.Replicas, d.Spec.Selector = ptr.To(int32(replicas)), &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: amount},
	}}}
	return s.kube.Create(r.Context(), d)
}
