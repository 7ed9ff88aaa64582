package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// fleet is EC2 with some instances; calls with an unknown id fail as a whole.
type fleet struct {
	mu    sync.Mutex // guards all below
	known map[string]bool
	err   error
	bad   map[string]string // error codes by id: a call with the id fails
	calls []string
	tags  map[string]string
}

func (f *fleet) note(action string, ids []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprint(action, " ", len(ids)))
	if f.err != nil {
		return f.err
	}
	for _, id := range ids {
		if code := f.bad[id]; code != "" {
			return &smithy.GenericAPIError{Code: code}
		}
	}
	for _, id := range ids {
		if !f.known[id] {
			return &smithy.GenericAPIError{Code: "InvalidInstanceID.NotFound"}
		}
	}
	return nil
}

func (f *fleet) DescribeInstances(
	_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeInstancesOutput, error) {
	if err := f.note("describe", in.InstanceIds); err != nil {
		return nil, err
	}
	var out []ec2types.Instance
	for _, id := range in.InstanceIds {
		if !strings.HasPrefix(id, "i-ended") { // the filter on states
			out = append(out, ec2types.Instance{InstanceId: aws.String(id)})
		}
	}
	return &ec2.DescribeInstancesOutput{Reservations: []ec2types.Reservation{{Instances: out}}}, nil
}

func (f *fleet) TerminateInstances(
	_ context.Context, in *ec2.TerminateInstancesInput, _ ...func(*ec2.Options),
) (*ec2.TerminateInstancesOutput, error) {
	return &ec2.TerminateInstancesOutput{}, f.note("terminate", in.InstanceIds)
}

func (f *fleet) RebootInstances(
	_ context.Context, in *ec2.RebootInstancesInput, _ ...func(*ec2.Options),
) (*ec2.RebootInstancesOutput, error) {
	return &ec2.RebootInstancesOutput{}, f.note("reboot", in.InstanceIds)
}

func (f *fleet) CreateTags(
	_ context.Context, in *ec2.CreateTagsInput, _ ...func(*ec2.Options),
) (*ec2.CreateTagsOutput, error) {
	f.tags = map[string]string{}
	for _, t := range in.Tags {
		f.tags[*t.Key] = *t.Value
	}
	return &ec2.CreateTagsOutput{}, f.note("tag", in.Resources)
}

func store(t *testing.T, f *fleet) *Store {
	return New(t.Context(), Config{API: f, Cluster: "c", Clock: clock.RealClock{}, Metrics: prometheus.NewRegistry()})
}

// all makes one call for each id concurrently, and returns the result of each: ok, gone, or the error.
func all(ids []string, call func(id string) error) []string {
	out := make([]string, len(ids))
	var wg sync.WaitGroup
	for n, id := range ids {
		wg.Go(func() {
			switch err := call(id); {
			case err == nil:
				out[n] = "ok"
			case errors.Is(err, cloud.ErrNotFound):
				out[n] = "gone"
			default:
				out[n] = "error"
			}
		})
	}
	wg.Wait()
	return out
}

func TestGetJoinsCalls(t *testing.T) {
	f := &fleet{known: map[string]bool{"i-1": true, "i-2": true, "i-3": true, "i-ended": true}}
	s := store(t, f)
	get := func(id string) error { _, err := s.Get(t.Context(), id); return err }
	if got := all([]string{"i-1", "i-2", "i-ended", "i-1"}, get); !slices.Equal(got, []string{"ok", "ok", "gone", "ok"}) {
		t.Errorf("got %v", got)
	}
	if !slices.Equal(f.calls, []string{"describe 3"}) {
		t.Errorf("calls were %v, want one of three ids", f.calls)
	}
	f.calls = nil
	if got := all([]string{"i-1", "i-unknown", "i-2", "i-3"}, get); !slices.Equal(got, []string{"ok", "gone", "ok", "ok"}) {
		t.Errorf("with an unknown id: %v", got)
	}
	// A throttled call is not split into more calls.
	f.calls, f.err = nil, &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
	if got := all([]string{"i-1", "i-2"}, get); !slices.Equal(got, []string{"error", "error"}) || len(f.calls) != 1 {
		t.Errorf("throttled: %v after %v", got, f.calls)
	}
}

func TestTerminate(t *testing.T) {
	f := &fleet{known: map[string]bool{"i-1": true, "i-2": true}}
	s := store(t, f)
	end := func(id string) error { return s.Terminate(t.Context(), Instance{ID: id, Zone: "a"}) }
	if got := all([]string{"i-1", "i-unknown", "i-2"}, end); !slices.Equal(got, []string{"ok", "gone", "ok"}) {
		t.Errorf("got %v", got)
	}
	f.err = &smithy.GenericAPIError{Code: "UnauthorizedOperation"}
	if got := all([]string{"i-1"}, end); got[0] != "error" {
		t.Errorf("refused: %v", got)
	}
	if n := testutil.ToFloat64(s.failures.WithLabelValues("a", "")); n != 2 {
		t.Errorf("%v failures counted, want 2", n)
	}
}

// An instance that EC2 refuses fails alone. Later calls for others do not contain it until EC2 accepts it.
func TestRefusedInstanceFailsAlone(t *testing.T) {
	for _, code := range []string{"OperationNotPermitted", "UnauthorizedOperation", "InvalidInstanceID.Malformed"} {
		t.Run(code, func(t *testing.T) {
			f := &fleet{known: map[string]bool{}, bad: map[string]string{"i-bad": code}}
			ids := []string{"i-bad", "i-unknown"}
			for n := range 6 {
				ids = append(ids, fmt.Sprint("i-", n))
				f.known[ids[n+2]] = true
			}
			s := store(t, f)
			want := []string{"error", "gone", "ok", "ok", "ok", "ok", "ok", "ok"}
			end := func(id string) error { return s.Terminate(t.Context(), Instance{ID: id}) }
			if got := all(ids, end); !slices.Equal(got, want) {
				t.Errorf("terminate: %v, want %v", got, want)
			}
			f.calls = nil
			known := slices.Concat(ids[:1], ids[2:])
			if got := all(known, end); got[0] != "error" || got[1] != "ok" || len(f.calls) != 2 {
				t.Errorf("terminate again: %v after %v, want a call for all but the refused one", got, f.calls)
			}
			f.bad = nil
			f.known["i-bad"] = true
			all(known, end)
			f.calls = nil
			if got := all(known, end); got[0] != "ok" || len(f.calls) != 1 {
				t.Errorf("terminate once it is accepted: %v after %v, want one call", got, f.calls)
			}
		})
	}
	f := &fleet{known: map[string]bool{"i-1": true, "i-2": true}, bad: map[string]string{"i-b%d": "InvalidInstanceID.Malformed"}}
	s := store(t, f)
	get := func(id string) error { _, err := s.Get(t.Context(), id); return err }
	if got := all([]string{"i-1", "i-b%d", "i-2"}, get); !slices.Equal(got, []string{"ok", "error", "ok"}) {
		t.Errorf("describe: %v", got)
	}
}

// A controller without permission to terminate does not make one call for each instance.
func TestAllRefused(t *testing.T) {
	f := &fleet{err: &smithy.GenericAPIError{Code: "UnauthorizedOperation"}}
	s, ids := store(t, f), make([]string, 300)
	for n := range ids {
		ids[n] = fmt.Sprintf("i-%03d", n)
	}
	got := all(ids, func(id string) error { return s.Terminate(t.Context(), Instance{ID: id}) })
	if slices.ContainsFunc(got, func(s string) bool { return s != "error" }) || len(f.calls) > 60 {
		t.Errorf("%d calls, results %v", len(f.calls), got)
	}
}

func TestTag(t *testing.T) {
	f := &fleet{known: map[string]bool{"i-1": true}}
	s := store(t, f)
	if err := s.Tag(t.Context(), "i-1", map[string]string{"b": "2", "a": "1"}); err != nil || f.tags["b"] != "2" {
		t.Errorf("tags %v, %v", f.tags, err)
	}
	if err := s.Tag(t.Context(), "i-2", nil); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("an unknown instance: %v", err)
	}
}

// During a zonal shift no instance in the zone is changed, also if EC2 did not return the ID of its zone.
func TestShiftedInstancesAreNotChanged(t *testing.T) {
	f := &fleet{known: map[string]bool{"i-1": true}}
	s := New(t.Context(), Config{
		API: f, Cluster: "c", Clock: clock.RealClock{}, Metrics: prometheus.NewRegistry(),
		Away: func(_ context.Context, i Instance) bool { return i.ZoneID == "" }, Known: func() bool { return true },
	})
	i, err := s.Get(t.Context(), "i-1")
	if err != nil || i.ZoneID != "" {
		t.Fatalf("the instance is %+v, %v", i, err)
	}
	for what, err := range map[string]error{
		"reboot": s.Reboot(t.Context(), i.ID), "terminate": s.Terminate(t.Context(), i), "tag": s.Tag(t.Context(), i.ID, nil),
	} {
		var shifted *ShiftedError
		if !errors.As(err, &shifted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !slices.Equal(f.calls, []string{"describe 1"}) {
		t.Errorf("calls are %v", f.calls)
	}
}

// While it is not known whether traffic is shifted away from a zone, no instance is changed, and one that EC2 does not find is not
// taken for ended.
func TestUnknownShifts(t *testing.T) {
	f, known := &fleet{known: map[string]bool{"i-1": true}}, false
	s := New(t.Context(), Config{
		API: f, Cluster: "c", Clock: clock.RealClock{}, Metrics: prometheus.NewRegistry(),
		Away: func(context.Context, Instance) bool { return false }, Known: func() bool { return known },
	})
	i, err := s.GetIn(t.Context(), "a", "i-1")
	if err != nil {
		t.Fatal(err)
	}
	_, lost := s.GetIn(t.Context(), "a", "i-2")
	for what, err := range map[string]error{
		"get": lost, "reboot": s.Reboot(t.Context(), i.ID), "terminate": s.Terminate(t.Context(), i), "tag": s.Tag(t.Context(), i.ID, nil),
	} {
		var shifted *ShiftedError
		if !errors.As(err, &shifted) || errors.Is(err, cloud.ErrNotFound) || !strings.Contains(err.Error(), "ARC has not answered") {
			t.Errorf("%s: %v", what, err)
		}
	}
	known = true
	if _, err := s.GetIn(t.Context(), "a", "i-2"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("with known shifts, get: %v", err)
	}
	if err := s.Terminate(t.Context(), i); err != nil {
		t.Errorf("with known shifts, terminate: %v", err)
	}
}

func TestFromEC2(t *testing.T) {
	got := fromEC2(ec2types.Instance{
		InstanceId: aws.String("i-1"), InstanceType: "m5.large", SpotInstanceRequestId: aws.String("sir-1"),
		Placement:         &ec2types.Placement{AvailabilityZone: aws.String("a"), Tenancy: "dedicated"},
		State:             &ec2types.InstanceState{Name: "shutting-down"},
		NetworkInterfaces: []ec2types.InstanceNetworkInterface{{InterfaceType: aws.String("efa")}, {InterfaceType: aws.String("interface")}},
		SecurityGroups:    []ec2types.GroupIdentifier{{GroupId: aws.String("sg-1")}},
		Tags:              []ec2types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	})
	want := Instance{
		ID: "i-1", Type: "m5.large", Zone: "a", CapacityType: "spot", Tenancy: "dedicated", State: "shutting-down",
		SecurityGroups: []string{"sg-1"}, Tags: map[string]string{"k": "v"}, EFAs: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" || !got.Ending() {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if bare := fromEC2(ec2types.Instance{}); bare.CapacityType != "on-demand" || bare.Tenancy != "default" || bare.Ending() {
		t.Errorf("an instance of which nothing is told: %+v", bare)
	}
}

func TestProviderID(t *testing.T) {
	for text, want := range map[string]string{
		"aws:///us-east-1a/i-0abc": "us-east-1a i-0abc true", "kwok-aws:///a/i-1": "a i-1 true",
		"": "  false", "aws:///i-1": "  false", "aws:///a/x-1": "  false", "gce://p/z/n": "  false", "aws:///a/b/i-1": "  false",
	} {
		zone, id, ok := ParseProviderID(text)
		if got := fmt.Sprint(zone, " ", id, " ", ok); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := ProviderID("a", "i-1"); got != "aws:///a/i-1" {
		t.Errorf("provider id is %s", got)
	}
}

func TestTags(t *testing.T) {
	class := &awsv1.EC2NodeClass{}
	class.Name = "default"
	class.Spec.Tags = map[string]string{"team": "web"}
	want := map[string]string{
		"team": "web", "kubernetes.io/cluster/c": "owned", "karpenter.sh/nodepool": "p", "eks:eks-cluster-name": "c",
		"karpenter.k8s.aws/ec2nodeclass": "default",
	}
	if diff := cmp.Diff(want, OwnTags("c", "p", class)); diff != "" || len(class.Spec.Tags) != 1 {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := CheckTags(class); err != nil {
		t.Error(err)
	}
	class.Spec.Tags = map[string]string{"karpenter.sh/nodepool": "x", "kubernetes.io/cluster/other": "owned", "karpenter.sh/nodeclaim": "x"}
	if err := CheckTags(class); err == nil || strings.Count(err.Error(), "set by Karpenter") != 3 {
		t.Errorf("reserved tags: %v", err)
	}
}
