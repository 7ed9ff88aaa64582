package aws_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws"
)

const clusterName = "test"

// A world is an emulated account and an API server in memory.
type world struct {
	url     string
	control control.Client
	kube    client.WithWatch
	// ctx is the context of the running process. stop ends the process.
	ctx  context.Context
	stop context.CancelFunc
	uids int
	// clock is the clock of the processes.
	clock clock.WithTicker
	// afterNew, if set, is called when a provider has started, before it looks at the node class.
	afterNew func()
	// provider is the provider of the running process.
	provider *aws.Provider
	// emulator is the emulated account, and region its region.
	emulator *awsemu.Emulator
	region   string
}

// newWorld makes a world for a test that runs in parallel with others. EC2 offers only a few families in it, because
// reading all 900 types is slow.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldSelling(t, "c5.*", "m5.*", "m6g.*", "c6i.*", "r6i.*", "g5.*", "p5.*")
}

// newWorldSelling makes a world in which EC2 offers the types that match the patterns, or all types without patterns.
func newWorldSelling(t *testing.T, types ...string) *world {
	t.Helper()
	return newWorldOf(t, awsemu.Config{Sells: types})
}

// newWorldOf makes a world of an account whose cluster and timing are filled in. Instances run at once unless Timing.Pending is set.
func newWorldOf(t *testing.T, c awsemu.Config) *world {
	t.Helper()
	t.Parallel()
	return worldOf(t, c)
}

// worldOf is like newWorldOf, for a test that does not run in parallel with others.
func worldOf(t testing.TB, c awsemu.Config) *world {
	t.Helper()
	c.Cluster.Name, c.Cluster.Endpoint, c.Cluster.CA = clusterName, "https://api.test:6443", "Q0E="
	c.Timing = awsemu.Timing{Pending: cmp.Or(c.Timing.Pending, -1), Shutdown: -1}
	emulator, err := awsemu.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(emulator)
	w := &world{
		clock: clock.RealClock{}, url: server.URL, control: control.Client{BaseURL: server.URL}, stop: func() {},
		emulator: emulator, region: cmp.Or(c.Region, "us-east-1"),
	}
	dns := "10.100.0.10"
	if c.Cluster.IPv6 {
		dns = "fd30:1c53:5f8a::a"
	}
	t.Cleanup(func() {
		w.stop()
		server.CloseClientConnections()
		server.Close()
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w.kube = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&awsv1.EC2NodeClass{}, &apiv1.NodeClaim{}).
		WithObjects(nodeClass(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"},
			Spec:       corev1.ServiceSpec{ClusterIP: dns},
		}).Build()
	return w
}

// nodeClass returns a node class as in the published examples.
func nodeClass() *awsv1.EC2NodeClass {
	discovery := map[string]string{"karpenter.sh/discovery": clusterName}
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1},
		Spec: awsv1.EC2NodeClassSpec{
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
			Role:                       "KarpenterNodeRole-" + clusterName,
			Tags:                       map[string]string{"team": "platform"},
		},
	}
}

func pool() *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default",
	}
	in := func(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
		return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	p.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		in(awsv1.LabelInstanceCategory, "c", "m", "r"),
		in(corev1.LabelArchStable, apiv1.ArchitectureAmd64),
		in(corev1.LabelTopologyZone, "us-east-1a", "us-east-1b", "us-east-1c"),
		in(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeSpot, apiv1.CapacityTypeOnDemand),
	}
	return p
}

// start ends the running process, starts a provider in a new one, and makes the node class ready.
func (w *world) start(t testing.TB) *aws.Provider {
	t.Helper()
	return w.startWith(t, func(*aws.Config) {})
}

// startWith is start with a changed configuration.
func (w *world) startWith(t testing.TB, change func(*aws.Config)) *aws.Provider {
	t.Helper()
	w.stop()
	if err := w.control.ClearFaults(t.Context(), "*"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.ctx, w.stop = ctx, stop
	config := w.config(t)
	change(&config)
	p, err := aws.New(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	w.provider = p
	if w.afterNew != nil {
		w.afterNew()
	}
	w.reconcile(t, "nodeclass.hash", "default")
	w.reconcile(t, "nodeclass", "default")
	return p
}

// config returns the configuration of a provider that calls the emulator.
func (w *world) config(t testing.TB) aws.Config {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	settings := aws.AddFlags(fs)
	args := []string{"--cluster-name=" + clusterName, "--cluster-ca-bundle=Q0E="}
	if w.afterNew == nil { // the test does not depend on dry runs
		args = append(args, "--disable-dry-run=true")
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := settings.Validate(); err != nil {
		t.Fatal(err)
	}
	return aws.Config{
		AWS: awssdk.Config{
			Region: w.region, BaseEndpoint: awssdk.String(w.url),
			Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		},
		Client: w.kube, Reader: w.kube, Writer: act.Writer{Client: w.kube}, Discovery: kubernetes{}, Clock: w.clock, Settings: *settings,
		Ledger: ledger{w.kube}, Metrics: prometheus.NewRegistry(), Recorder: recorder{t},
	}
}

// reconcile runs a controller once.
func (w *world) reconcile(t testing.TB, controller, name string) ctrl.Result {
	t.Helper()
	for _, c := range controllersOf(t, w.provider, w.kube, w.clock) {
		if c.Name() != controller {
			continue
		}
		result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		if err != nil {
			t.Fatalf("%s: %v", controller, err)
		}
		return result
	}
	t.Fatalf("there is no controller %s", controller)
	return ctrl.Result{}
}

// claim returns a claim of the pool.
func (w *world) claim(name string) *apiv1.NodeClaim {
	p := pool()
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: p.Name},
	}}
	c.Spec.NodeClassRef = p.Spec.Template.Spec.NodeClassRef
	c.Spec.Requirements = p.Spec.Template.Spec.Requirements
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	return c
}

func (w *world) store(t testing.TB, claim *apiv1.NodeClaim) {
	t.Helper()
	w.uids++
	claim.UID = types.UID(fmt.Sprintf("uid-%04d", 7919*w.uids%10000)) // not in the order of creation
	if err := w.kube.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}

func (w *world) load(t testing.TB, name string) *apiv1.NodeClaim {
	t.Helper()
	var claim apiv1.NodeClaim
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: name}, &claim); err != nil {
		t.Fatal(err)
	}
	return &claim
}

// launched writes the fields that the launch controller writes.
func (w *world) launched(t testing.TB, name string, i *cloud.Instance) {
	t.Helper()
	claim := w.load(t, name)
	before := claim.DeepCopy()
	for k, v := range i.Labels {
		metav1.SetMetaDataLabel(&claim.ObjectMeta, k, v)
	}
	for k, v := range i.Annotations {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, k, v)
	}
	if err := w.kube.Patch(t.Context(), claim, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	before = claim.DeepCopy()
	claim.Status.ProviderID, claim.Status.ImageID = i.ProviderID, i.ImageID
	if err := w.kube.Status().Patch(t.Context(), claim, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) alive(t testing.TB) []control.Instance {
	t.Helper()
	list, err := w.control.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []control.Instance
	for _, i := range list {
		if i.State == "pending" || i.State == "running" {
			out = append(out, i)
		}
	}
	return out
}

// calls returns the calls of an action so far, without dry runs.
func (w *world) calls(t *testing.T, action string) []control.Call {
	t.Helper()
	list, err := w.control.Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []control.Call
	for _, c := range list {
		if c.Action == action && c.Params["DryRun"] != "true" {
			out = append(out, c)
		}
	}
	return out
}

// ledger stores annotations by a patch, as the ledger of the controllers does.
type ledger struct{ kube client.Client }

func (l ledger) Record(
	ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string,
) (gone []*apiv1.NodeClaim, err error) {
	return act.Ledger{Client: l.kube, Live: l.kube}.Record(ctx, claims, annotations)
}

type kubernetes struct{}

func (kubernetes) ServerVersion() (*version.Info, error) {
	return &version.Info{Major: "1", Minor: "36+"}, nil
}

type recorder struct{ t testing.TB }

func (r recorder) Event(o client.Object, kind, reason, message string) {
	r.t.Logf("event on %s: %s", o.GetName(), strings.Join([]string{kind, reason, message}, " "))
}

func (r recorder) Publish(events ...telemetry.Event) {
	for _, e := range events {
		r.t.Logf("event: %s %s: %s", e.Type, e.Reason, e.Message)
	}
}

// actionOf returns the EC2 action of a request, or "". It leaves the body to be read again.
func actionOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	raw, err := io.ReadAll(r.Body)
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if err != nil {
		return ""
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return ""
	}
	return form.Get("Action")
}

// forever is longer than any test.
const forever = control.Duration(time.Hour)

// encode returns user data in the encoding of EC2.
func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
