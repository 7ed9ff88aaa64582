package operator

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/operator/guard/guardtest"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A plainCloud has no instance types.
type plainCloud struct{ cloud.Provider }

func (plainCloud) Name() string       { return "plain" }
func (plainCloud) Facts() cloud.Facts { return cloud.Facts{} }

// A runner is a manager that collects what it is given, and has never been elected.
type runner struct {
	ctrl.Manager
	config *rest.Config
	added  []manager.Runnable
}

func (r *runner) Add(x manager.Runnable) error { r.added = append(r.added, x); return nil }
func (r *runner) GetConfig() *rest.Config      { return r.config }
func (r *runner) GetHTTPClient() *http.Client  { return http.DefaultClient }
func (r *runner) Elected() <-chan struct{}     { return nil }

// parsed returns the settings of a command line, with the defaults of all other flags.
func parsed(t *testing.T, args ...string) *settings.Settings {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s := settings.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s
}

// served adds the dashboard of the settings to a manager, and returns what the manager has to run.
func served(t *testing.T, s *settings.Settings, config *rest.Config) []manager.Runnable {
	t.Helper()
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), nil)
	b := base{
		Env: Env{Clock: clock.RealClock{}, Live: reader{}}, settings: s, provider: plainCloud{}, labels: apiv1.CoreLabels(),
		cluster: observe.New(clock.RealClock{}), costs: ledger.New(nil, ""), metrics: metrics,
	}
	mgr := &runner{config: config}
	if err := b.serveDashboard(mgr, Program{Settings: s, ClusterName: "production", Clock: clock.RealClock{}}); err != nil {
		t.Fatal(err)
	}
	return mgr.added
}

// start runs the dashboard until the test ends, and returns its address once it answers.
func startDashboard(t *testing.T, added []manager.Runnable) string {
	t.Helper()
	if len(added) != 1 {
		t.Fatalf("%d servers were added", len(added))
	}
	d, ok := added[0].(*dashboardServer)
	if !ok || d.NeedLeaderElection() {
		t.Fatalf("%T is not what every replica serves", added[0])
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for {
		select {
		case err := <-done:
			done <- err
			t.Fatalf("the dashboard ended: %v", err)
		default:
		}
		if connection, err := net.Dial("tcp", d.address); err == nil {
			_ = connection.Close()
			return d.address
		}
	}
}

// freePort returns a port that no process listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// The port is off by default, and then nothing is served.
func TestDashboardIsOffByDefault(t *testing.T) {
	if s := parsed(t); s.DashboardPort != 0 || len(served(t, s, &rest.Config{})) != 0 {
		t.Errorf("the dashboard is served on port %d", s.DashboardPort)
	}
}

// With a port, the page is served on loopback alone, and needs no token.
func TestDashboardIsOnLoopback(t *testing.T) {
	address := startDashboard(t, served(t, parsed(t, "--dashboard-port="+freePort(t)), &rest.Config{}))
	if host, _, _ := net.SplitHostPort(address); !net.ParseIP(host).IsLoopback() {
		t.Errorf("it listens on %s", address)
	}
	if status, body := get(t, "http://"+address+"/", ""); status != http.StatusOK || !strings.Contains(body, "<html") {
		t.Errorf("%d %.80s", status, body)
	}
	if status, body := get(t, "http://"+address+"/api/v1/info", ""); status != http.StatusOK || !strings.Contains(body, `"cluster":"production"`) {
		t.Errorf("%d %s, want the name of the cluster", status, body)
	}
}

// With authentication, the data need a token that the API server accepts and whose user may get the path of the dashboard. The
// files of the page need none.
func TestDashboardAuthentication(t *testing.T) {
	api := guardtest.Start(t, []string{"reader", "stranger"}, func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		n := spec.NonResourceAttributes
		return spec.User == "reader" && n.Path == "/dashboard/api/v1/info" && n.Verb == "get"
	})
	s := parsed(t, "--dashboard-port="+freePort(t), "--dashboard-authentication=true")
	url := "http://" + startDashboard(t, served(t, s, api.Config()))
	for _, tt := range []struct {
		path, token string
		want        int
	}{
		{"/", "", 200}, {"/api/v1/info", "", 401}, {"/api/v1/info", "forged", 401}, {"/api/v1/info", "stranger", 403}, {"/api/v1/info", "reader", 200},
	} {
		if status, body := get(t, url+tt.path, tt.token); status != tt.want {
			t.Errorf("%s with token %q: %d %s, want %d", tt.path, tt.token, status, body, tt.want)
		}
	}
}

// The leader is the pod whose name begins the identity of the lease. Without a lease there is none.
func TestLeaderOf(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "lease"}}
	lease.Spec.HolderIdentity = new("karpenter-7d9f-x2x7q_0b5c8e0e-1111-2222-3333-444455556666")
	live := reader{lease: lease}
	for name, want := range map[string]string{"lease": "karpenter-7d9f-x2x7q", "other": ""} {
		if got, err := leaderOf(t.Context(), live, "kube-system", name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Claims and templates are read of all namespaces. If they cannot be read, the error says so.
func TestClaimsOf(t *testing.T) {
	template := resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu"}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 2}}}
	claims, err := claimsOf(t.Context(), reader{template: &template})
	if err != nil {
		t.Fatal(err)
	}
	pod := &model.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml"}}}
	pod.Object.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
	if got := claims.Of(pod); len(got) != 1 || got[0].Class != "gpu" || *got[0].Count != 2 {
		t.Errorf("%+v", got)
	}
	if _, err := claimsOf(t.Context(), reader{}); err == nil || !strings.Contains(err.Error(), "ResourceClaimTemplates: forbidden") {
		t.Errorf("%v", err)
	}
}

// A reader has a lease and a ResourceClaimTemplate. Others are not found, and without a template reading them is forbidden.
type reader struct {
	client.Reader
	lease    *coordinationv1.Lease
	template *resourcev1.ResourceClaimTemplate
}

func (r reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if out, ok := into.(*coordinationv1.Lease); ok && r.lease != nil && key == client.ObjectKeyFromObject(r.lease) {
		r.lease.DeepCopyInto(out)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (r reader) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if out, ok := into.(*resourcev1.ResourceClaimTemplateList); ok {
		if r.template == nil {
			return errors.New("forbidden")
		}
		out.Items = append(out.Items, *r.template)
	}
	return nil
}
