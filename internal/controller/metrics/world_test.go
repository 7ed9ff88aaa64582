package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A world is a cluster and a clock, and records metrics and events.
type world struct {
	client.Client
	t       *testing.T
	clock   *testclock.FakeClock
	reg     *prometheus.Registry
	metrics *telemetry.Metrics
	events  []telemetry.Event
}

// start is the time at which the tests begin.
var start = time.Unix(1_000_000, 0)

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	return &world{
		t: t, clock: testclock.NewFakeClock(start), reg: reg,
		metrics: telemetry.NewMetrics(reg, []string{apiv1.NodePoolLabelKey, corev1.LabelTopologyZone}),
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithStatusSubresource(&corev1.Pod{}, &corev1.Node{}, &apiv1.NodePool{}, &apiv1.NodeClaim{}).Build(),
	}
}

func (w *world) Publish(events ...telemetry.Event) { w.events = append(w.events, events...) }

func (w *world) run(r reconcile.Reconciler, namespace, name string) ctrl.Result {
	w.t.Helper()
	result, err := r.Reconcile(w.t.Context(), ctrl.Request{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: name},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// expect compares all series of the named metrics with want, in the text format without comments. It compares only the sum and
// count of histograms and summaries.
func (w *world) expect(want string, names ...string) {
	w.t.Helper()
	text, err := testutil.CollectAndFormat(w.reg, expfmt.TypeTextPlain, names...)
	w.must(err)
	var got []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "quantile=") {
			got = append(got, line)
		}
	}
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line+"\n")
		}
	}
	if g, l := strings.Join(got, ""), strings.Join(lines, ""); g != l {
		w.t.Errorf("metrics are\n%swant\n%s", g, l)
	}
}

// at returns the time some seconds after start.
func at(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}
