package interruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/controller/interruption"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// now is twenty seconds after the events of message_test.go.
var now = time.Date(2026, 11, 21, 12, 0, 20, 0, time.UTC)

// mailbox is a queue. It does not deliver again messages that were received and not deleted, but keeps them in hidden.
type mailbox struct {
	mu      sync.Mutex // guards all below
	bodies  []string
	hidden  map[string]string // by receipt
	deleted int
	calls   int
	err     error
}

func (m *mailbox) GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) {
	return &sqs.GetQueueUrlOutput{QueueUrl: aws.String("http://q")}, m.err
}

func (m *mailbox) ReceiveMessage(_ context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	out := &sqs.ReceiveMessageOutput{}
	for range min(int(in.MaxNumberOfMessages), len(m.bodies)) {
		receipt := fmt.Sprint(len(m.hidden) + m.deleted)
		if m.hidden == nil {
			m.hidden = map[string]string{}
		}
		m.hidden[receipt] = m.bodies[0]
		out.Messages = append(out.Messages, sqstypes.Message{Body: aws.String(m.bodies[0]), ReceiptHandle: aws.String(receipt)})
		m.bodies = m.bodies[1:]
	}
	return out, m.err
}

func (m *mailbox) DeleteMessageBatch(_ context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range in.Entries {
		delete(m.hidden, *e.ReceiptHandle)
		m.deleted++
	}
	return &sqs.DeleteMessageBatchOutput{}, nil
}

// bench is the interruption controller with a queue, and records what the controller does.
type bench struct {
	meter    *Meter
	registry *prometheus.Registry
	metrics  *telemetry.Metrics
	replaced *interruption.Replacements
	box      *mailbox
	kube     client.Client
	consumer *interruption.Controller
	events   []string
	short    []string
	full     []string
	mu       sync.Mutex // guards the lists above
	refuse   error      // of deleting claims
}

func (b *bench) note(list *[]string, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, text)
}

func (b *bench) Publish(events ...telemetry.Event) {
	for _, e := range events {
		b.note(&b.events, e.Object.(client.Object).GetName()+" "+e.Reason)
	}
}

func (b *bench) Facts() cloud.Facts {
	return cloud.Facts{NodeClasses: []schema.GroupVersionKind{awsv1.GroupVersion.WithKind("EC2NodeClass")}}
}

func (b *bench) MarkUnavailable(claim *apiv1.NodeClaim, capacityType string) {
	l := claim.Labels
	if capacityType == apiv1.CapacityTypeReserved {
		b.note(&b.full, l[awsv1.LabelCapacityReservationID])
		return
	}
	b.note(&b.short, l[corev1.LabelInstanceTypeStable]+"/"+l[corev1.LabelTopologyZone]+"/"+capacityType)
}

// disrupted is how many claims were counted as disrupted for the reason, for any reason if it is empty.
func (b *bench) disrupted(t *testing.T, reason string) (n int) {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "karpenter_nodeclaims_disrupted_total" && l.GetName() == "reason" && (reason == "" || l.GetValue() == reason) {
					n += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return n
}

// controller returns the controller that acts on the notices of a source.
func (b *bench) controller(source cloud.NoticeSource) *interruption.Controller {
	return &interruption.Controller{
		Source: source, Cloud: b, Client: b.kube, Clock: clocktesting.NewFakePassiveClock(now), Events: b, Metrics: b.metrics,
		Replacements: b.replaced,
	}
}

// handle handles one batch of notices.
func handle(t *testing.T, c *interruption.Controller) error {
	t.Helper()
	_, err := c.Handle(t.Context())
	return err
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &bench{box: &mailbox{}}
	b.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if b.refuse != nil {
				return b.refuse
			}
			return c.Delete(ctx, o, options...)
		},
	}).Build()
	b.registry = prometheus.NewRegistry()
	b.meter, b.metrics = NewMeter(b.registry), telemetry.NewMetrics(b.registry, nil)
	b.replaced = interruption.NewReplacements(b.kube, b.metrics.Interruption.ToLaunchSeconds)
	b.consumer = b.controller(NewConsumer(b.box, "q", clocktesting.NewFakeClock(now), b.meter))
	return b
}

// claimOn is a claim with its node.
func claimOn(instance string) []client.Object {
	id := "aws:///a/" + instance
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-" + instance, UID: types.UID(instance), Finalizers: []string{"karpenter.sh/termination"},
		Labels: map[string]string{
			apiv1.NodePoolLabelKey: "p", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "a",
			apiv1.CapacityTypeLabelKey: "spot", awsv1.LabelCapacityReservationID: "cr-1",
		},
	}}
	c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	c.Status.ProviderID = id
	return []client.Object{c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + instance}, Spec: corev1.NodeSpec{ProviderID: id}}}
}

func (b *bench) claim(t *testing.T, instance string) *apiv1.NodeClaim {
	t.Helper()
	var c apiv1.NodeClaim
	if err := b.kube.Get(t.Context(), client.ObjectKey{Name: "claim-" + instance}, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// deleting reports whether the claim of the instance is being deleted and its node is cordoned.
func (b *bench) deleting(t *testing.T, instance string) (going, cordoned bool) {
	t.Helper()
	var n corev1.Node
	if err := b.kube.Get(t.Context(), client.ObjectKey{Name: "node-" + instance}, &n); err != nil {
		t.Fatal(err)
	}
	return !b.claim(t, instance).DeletionTimestamp.IsZero(), slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == apiv1.DisruptedTaintKey && t.Effect == corev1.TaintEffectNoSchedule
	})
}

func TestConsume(t *testing.T) {
	ec2Of := func(kind, state string) string { return fmt.Sprintf(ec2Event, kind, state) }
	for _, tt := range []struct {
		name, body string
		gone       bool
		events     []string // of the claim
		short      string
		full       string
	}{
		{"spot warning", spotWarning, true, []string{"SpotInterrupted", "TerminatingOnInterruption"}, "[m5.large/a/spot]", "[]"},
		{"rebalance", ec2Of("EC2 Instance Rebalance Recommendation", ""), false, []string{"SpotRebalanceRecommendation"}, "[]", "[]"},
		{"maintenance", fmt.Sprintf(healthEvent, "EC2", "scheduledChange"), true, []string{"InstanceUnhealthy", "TerminatingOnInterruption"}, "[]", "[]"},
		{"stopping", ec2Of("EC2 Instance State-change Notification", "stopping"), true, []string{"InstanceStopping", "TerminatingOnInterruption"}, "[]", "[]"},
		{"terminated", ec2Of("EC2 Instance State-change Notification", "terminated"), true, []string{"InstanceTerminating", "TerminatingOnInterruption"}, "[]", "[]"},
		{"reservation", ec2Of("EC2 Capacity Reservation Instance Interruption Warning", ""), true,
			[]string{"CapacityReservationInstanceInterrupted", "TerminatingOnInterruption"}, "[]", "[cr-1]"},
		{"running", ec2Of("EC2 Instance State-change Notification", "running"), false, nil, "[]", "[]"},
		{"garbage", "<html>", false, nil, "[]", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, append(claimOn("i-1"), claimOn("i-other")...)...)
			b.box.bodies = []string{tt.body}
			if err := handle(t, b.consumer); err != nil {
				t.Fatal(err)
			}
			if going, cordoned := b.deleting(t, "i-1"); going != tt.gone || cordoned != tt.gone {
				t.Errorf("claim is going %v, node cordoned %v; want %v", going, cordoned, tt.gone)
			}
			if going, _ := b.deleting(t, "i-other"); going {
				t.Error("another claim is going")
			}
			var want []string
			for _, e := range tt.events {
				want = append(want, "claim-i-1 "+e, "node-i-1 "+e)
			}
			if !slices.Equal(b.events, want) || fmt.Sprint(b.short) != tt.short || fmt.Sprint(b.full) != tt.full {
				t.Errorf("events %v, want %v; short %v, full %v", b.events, want, b.short, b.full)
			}
			disrupted := b.disrupted(t, "")
			if b.box.deleted != 1 || testutil.ToFloat64(b.meter.deleted) != 1 || disrupted != map[bool]int{true: 1}[tt.gone] {
				t.Errorf("%d messages deleted, disrupted %v", b.box.deleted, disrupted)
			}
		})
	}
}

// A rebalance recommendation replaces the node if Rebalance is set.
func TestRebalanceIsActedOn(t *testing.T) {
	b := newBench(t, claimOn("i-1")...)
	source := NewConsumer(b.box, "q", clocktesting.NewFakeClock(now), b.meter)
	source.Rebalance = true
	b.box.bodies = []string{fmt.Sprintf(ec2Event, "EC2 Instance Rebalance Recommendation", "")}
	if err := handle(t, b.controller(source)); err != nil {
		t.Fatal(err)
	}
	going, cordoned := b.deleting(t, "i-1")
	if n := b.disrupted(t, "rebalance_recommendation"); !going || !cordoned || n != 1 || fmt.Sprint(b.short) != "[m5.large/a/spot]" {
		t.Errorf("going %v, cordoned %v, %d counted, short %v", going, cordoned, n, b.short)
	}
}

// A claim that cannot be deleted keeps its message in the queue. The other messages of the batch are deleted.
func TestFailureKeepsTheMessage(t *testing.T) {
	b := newBench(t, claimOn("i-1")...)
	b.refuse = errors.New("API server is away")
	b.box.bodies = []string{spotWarning, fmt.Sprintf(ec2Event, "EC2 Instance State-change Notification", "running")}
	if err := handle(t, b.consumer); err != nil {
		t.Fatal(err)
	}
	if b.box.deleted != 1 || len(b.box.hidden) != 1 || b.disrupted(t, "") != 0 {
		t.Errorf("deleted %d, left %v, disrupted %v", b.box.deleted, b.box.hidden, b.disrupted(t, ""))
	}
	b.refuse, b.box.bodies = nil, []string{spotWarning} // the message is delivered again
	if err := handle(t, b.consumer); err != nil || b.box.deleted != 2 || b.disrupted(t, "") != 1 {
		t.Errorf("afterwards: %v, deleted %d, disrupted %v", err, b.box.deleted, b.disrupted(t, ""))
	}
}

// Of ten thousand messages at once, none is lost. Each claim is deleted once, with few calls.
func TestBurst(t *testing.T) {
	const claims, messages = 500, 10_000
	var objects []client.Object
	for n := range claims {
		objects = append(objects, claimOn(fmt.Sprintf("i-%d", n))...)
	}
	b := newBench(t, objects...)
	for n := range messages {
		body := strings.ReplaceAll(spotWarning, `"instance-id":"i-1"`, fmt.Sprintf(`"instance-id":"i-%d"`, n%(2*claims)))
		b.box.bodies = append(b.box.bodies, body) // half of them about instances that are not Karpenter's
	}
	for b.box.deleted < messages {
		before := b.box.deleted
		if err := handle(t, b.consumer); err != nil {
			t.Fatal(err)
		}
		if b.box.deleted == before {
			t.Fatalf("stuck with %d of %d messages", b.box.deleted, messages)
		}
	}
	if b.disrupted(t, "") != claims || len(b.box.hidden) != 0 {
		t.Errorf("%d claims let go, want %d; %d messages left", b.disrupted(t, ""), claims, len(b.box.hidden))
	}
	if got := testutil.ToFloat64(b.meter.messages.WithLabelValues(string(model.NoticeSpotInterrupted))); got != messages {
		t.Errorf("counted %v messages", got)
	}
	if b.box.calls > messages/perCall+200 {
		t.Errorf("%d calls to receive %d messages", b.box.calls, messages)
	}
}

// A missing queue is an error, which the loop logs once. When the queue is created, it is used.
func TestQueueMissing(t *testing.T) {
	b := newBench(t)
	b.box.err = errors.New("QueueDoesNotExist")
	if err := handle(t, b.consumer); err == nil || !strings.Contains(err.Error(), "find queue q") {
		t.Errorf("error is %v", err)
	}
	b.box.err = nil
	if err := handle(t, b.consumer); err != nil {
		t.Error(err)
	}
}

// hospital implements DescribeInstanceStatus. It has the statuses of instances by filter.
type hospital map[string][]ec2types.InstanceStatus

func (h hospital) DescribeInstanceStatus(_ context.Context, in *ec2.DescribeInstanceStatusInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	return &ec2.DescribeInstanceStatusOutput{InstanceStatuses: h[*in.Filters[0].Name]}, nil
}

// admitAll is a breaker without a bound.
type admitAll struct{}

func (admitAll) Admit(_ context.Context, ids map[string]bool) (map[string]bool, error) {
	return ids, nil
}

// admitOnly admits one instance.
type admitOnly string

func (a admitOnly) Admit(_ context.Context, ids map[string]bool) (map[string]bool, error) {
	return map[string]bool{string(a): ids[string(a)]}, nil
}

// Only admitted instances get a notice, apart from stopped ones.
func TestPollAsksBreaker(t *testing.T) {
	failed := &ec2types.InstanceStatusSummary{Details: []ec2types.InstanceStatusDetails{{
		Status: ec2types.StatusTypeFailed, ImpairedSince: aws.Time(now.Add(-time.Hour)),
	}}}
	b := newBench(t)
	p := &Poller{Breaker: admitOnly("i-2"), Clock: clocktesting.NewFakePassiveClock(now), Meter: b.meter, API: hospital{
		"instance-status.status": {
			{InstanceId: aws.String("i-1"), InstanceStatus: failed}, {InstanceId: aws.String("i-2"), InstanceStatus: failed}, {},
		},
		"system-status.status": {{InstanceId: aws.String("i-2"), SystemStatus: failed}},
		"instance-state-name":  {{InstanceId: aws.String("i-3")}},
	}}
	batch, err := p.Receive(t.Context())
	if n := batch.Notices; err != nil || len(n) != 3 || n[0].Instance != "i-2" || n[1].Instance != "i-2" || n[2].Instance != "i-3" {
		t.Errorf("notices %v, error %v; want two of i-2 and one of i-3", batch.Notices, err)
	}
}

func TestPoll(t *testing.T) {
	failing := func(since time.Duration) *ec2types.InstanceStatusSummary {
		return &ec2types.InstanceStatusSummary{Details: []ec2types.InstanceStatusDetails{{
			Status: ec2types.StatusTypeFailed, ImpairedSince: aws.Time(now.Add(-since)),
		}}}
	}
	event := func(id, code, text string) ec2types.InstanceStatus {
		return ec2types.InstanceStatus{InstanceId: aws.String(id), Events: []ec2types.InstanceStatusEvent{
			{Code: ec2types.EventCode(code), Description: aws.String(text)},
		}}
	}
	var objects []client.Object
	for _, id := range []string{"i-ill", "i-since-now", "i-host", "i-retire", "i-retired", "i-stopped", "i-fine"} {
		objects = append(objects, claimOn(id)...)
	}
	b := newBench(t, objects...)
	p := b.controller(&Poller{Breaker: admitAll{}, Clock: clocktesting.NewFakePassiveClock(now), Meter: b.meter, API: hospital{
		"instance-status.status": {
			{InstanceId: aws.String("i-ill"), InstanceStatus: failing(3 * time.Minute)},
			{InstanceId: aws.String("i-since-now"), InstanceStatus: failing(time.Minute)},
			{InstanceId: aws.String("i-not-ours"), InstanceStatus: failing(time.Hour)}, {},
		},
		"system-status.status": {{InstanceId: aws.String("i-host"), SystemStatus: failing(time.Hour)}},
		"event.code":           {event("i-retire", "instance-retirement", "soon"), event("i-retired", "instance-stop", "[Completed] x")},
		"instance-state-name":  {{InstanceId: aws.String("i-stopped")}},
	}})
	for range 2 { // a failure that lasts is handled and counted once
		if err := handle(t, p); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]struct{ going, forced bool }{
		"i-ill": {true, true}, "i-host": {true, true}, "i-retire": {true, false}, "i-stopped": {true, false}, "i-since-now": {}, "i-retired": {}, "i-fine": {},
	} {
		going, _ := b.deleting(t, id)
		_, forced := b.claim(t, id).Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]
		if going != want.going || forced != want.forced {
			t.Errorf("%s: going %v, forced %v; want %+v", id, going, forced, want)
		}
	}
	if got := testutil.ToFloat64(b.meter.unhealthy.WithLabelValues("InstanceStatus")); got != 2 { // also a foreign one
		t.Errorf("counted %v", got)
	}
}

// The time to a replacement is measured once for each interruption, from claims that were created after it.
func TestReplacement(t *testing.T) {
	b := newBench(t, claimOn("i-1")...)
	b.box.bodies = []string{spotWarning}
	if err := handle(t, b.consumer); err != nil {
		t.Fatal(err)
	}
	r := b.replaced
	launch := func(name string, made, launched time.Time) {
		t.Helper()
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(made), Labels: map[string]string{apiv1.NodePoolLabelKey: "p"},
		}}
		condition.SetTrue(c, apiv1.ConditionTypeLaunched, launched)
		if err := b.kube.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	launch("earlier", now.Add(-time.Hour), now)
	launch("replacement", now.Add(time.Second), now.Add(3*time.Second))
	launch("one-more", now.Add(time.Second), now.Add(4*time.Second))
	want := `
# HELP karpenter_interruption_replacement_launch_latency_seconds Time from an interruption message until the next NodeClaim of the NodePool is launched, in seconds.
# TYPE karpenter_interruption_replacement_launch_latency_seconds histogram
`
	for _, le := range []string{"0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "20", "30", "60", "120", "300", "+Inf"} {
		n := 0
		if len(le) > 1 && (le == "30" || le == "60" || le == "120" || le == "300" || le == "+Inf") {
			n = 1
		}
		want += fmt.Sprintf("karpenter_interruption_replacement_launch_latency_seconds_bucket{le=%q} %d\n", le, n)
	}
	want += "karpenter_interruption_replacement_launch_latency_seconds_sum 23\nkarpenter_interruption_replacement_launch_latency_seconds_count 1\n"
	if err := testutil.CollectAndCompare(b.metrics.Interruption.ToLaunchSeconds, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
