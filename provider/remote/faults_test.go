package remote_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// bubble runs a test in virtual time with a provider that is connected.
func bubble(t *testing.T, s *scripted, test func(t *testing.T, p cloudProvider, l *line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, l := connect(t, s)
		defer l.kill()
		defer p.Close()
		test(t, p, l)
	})
}

// passed waits until d has passed in the virtual time of a bubble. Meanwhile, streams and connections are opened again.
func passed(d time.Duration) { <-time.After(d) }

// cloudProvider has the methods of the client that the tests use.
type cloudProvider interface{ cloud.Provider }

func TestTypesAndCreate(t *testing.T) {
	bubble(t, &scripted{}, func(t *testing.T, p cloudProvider, _ *line) {
		types, err := p.InstanceTypes(t.Context(), pool())
		if err != nil || len(types) != 1 || len(types[0].Offerings) != 2 {
			t.Fatalf("types are %v, %v", types, err)
		}
		i, err := p.Create(t.Context(), claim("a"))
		if err != nil {
			t.Fatal(err)
		}
		if i.ProviderID != "script://uid-a" || i.Labels[corev1.LabelTopologyZone] != "b" || i.Labels[corev1.LabelArchStable] != "amd64" {
			t.Errorf("the instance is %+v, want the cheapest offering with the labels of its type", i)
		}
	})
}

// If the provider ends during a launch, the launch fails with an error. The repeated launch has the same token.
func TestDiesInCreate(t *testing.T) {
	launched := map[string]int{}
	entered := make(chan struct{}, 1)
	s := &scripted{create: func(ctx context.Context, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
		launched[r.GetToken()] = 1 // the cloud has launched the machine, but there is no response
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		entered = make(chan struct{}, 1)
		p, l := connect(t, s)
		defer l.kill()
		defer p.Close()
		failed := make(chan error, 1)
		go func() {
			_, err := p.Create(t.Context(), claim("a"))
			failed <- err
		}()
		<-entered
		l.kill()
		var launch *cloud.LaunchError
		if err := <-failed; !errors.As(err, &launch) || launch.Reason != "ProviderUnreachable" {
			t.Fatalf("create: %v, want a LaunchError ProviderUnreachable", err)
		}
		l.start(&scripted{})
		passed(2 * time.Minute)
		i, err := p.Create(t.Context(), claim("a"))
		if err != nil || i.ProviderID != "script://uid-a" || len(launched) != 1 {
			t.Errorf("after the restart create gives %+v, %v with tokens %v", i, err, launched)
		}
	})
}

// If a launch hangs, other calls are not delayed. The launch ends with its context.
func TestHangs(t *testing.T) {
	s := &scripted{
		create: func(ctx context.Context, _ *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		get: func(string) *cloudv1.GetInstanceResponse {
			return &cloudv1.GetInstanceResponse{Instance: &cloudv1.Instance{ProviderId: "script://x"}}
		},
	}
	bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := p.Create(ctx, claim("a"))
			failed <- err
		}()
		synctest.Wait()
		if _, err := p.Get(t.Context(), "script://x"); err != nil {
			t.Errorf("get while a launch hangs: %v", err)
		}
		if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("create: %v, want the error of its context", err)
		}
	})
}

// Launches that hang take at most three quarters of the calls. So other calls are made at once.
func TestHangingLaunchesLeaveCalls(t *testing.T) {
	info, err := (&scripted{}).GetInfo(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	info.MaxConcurrentCalls = 4
	s := &scripted{
		info: info,
		get: func(string) *cloudv1.GetInstanceResponse {
			return &cloudv1.GetInstanceResponse{Instance: &cloudv1.Instance{ProviderId: "script://x"}}
		},
	}
	bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
		begun := make(chan struct{}, 10)
		s.create = func(ctx context.Context, _ *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for n := range 10 {
			group.Go(func() { _, _ = p.Create(ctx, claim(fmt.Sprint(n))) })
		}
		synctest.Wait()
		if len(begun) != 3 {
			t.Errorf("%d launches are open, want 3 of 4 calls", len(begun))
		}
		bounded, done := context.WithTimeout(t.Context(), time.Second)
		if _, err := p.Get(bounded, "script://x"); err != nil {
			t.Errorf("get while launches hang: %v", err)
		}
		done()
		cancel()
		group.Wait()
	})
}

// The launch timeout of each kind of node class is read, and one that makes no sense is rejected.
func TestLaunchTimeout(t *testing.T) {
	for limit, valid := range map[time.Duration]bool{0: false, time.Second: false, 20 * time.Minute: true, 24 * time.Hour: false} {
		info, err := (&scripted{}).GetInfo(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		info.NodeClassKinds[0].LaunchTimeout = durationpb.New(limit)
		read, err := wire.ReadInfo(info)
		if (err == nil) != valid {
			t.Errorf("launch timeout %v: %v, want valid %t", limit, err, valid)
		}
		if err == nil && read.Facts.LaunchTimeout(pool().Spec.Template.Spec.NodeClassRef) != limit {
			t.Errorf("facts are %+v, want the launch timeout %v", read.Facts.LaunchTimeouts, limit)
		}
	}
}

// A catalogue that never comes makes the NodePool unusable at once; it does not hold up the planning of others.
func TestCatalogueNeverComes(t *testing.T) {
	s := &scripted{catalogue: func(stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
		return sendAndWait(stream)
	}}
	bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
		begin := time.Now()
		_, err := p.InstanceTypes(t.Context(), pool())
		var unready *cloud.NodeClassNotReadyError
		if !errors.As(err, &unready) {
			t.Errorf("types: %v, want a NodeClassNotReadyError", err)
		}
		if waited := time.Since(begin); waited != 5*time.Second {
			t.Errorf("planning waited for %s, want 5s", waited)
		}
	})
}

// After a provider has ended, its catalogue is used for a minute. Then its NodePools are not usable. When the provider runs
// again, they are usable.
func TestGoneAndBack(t *testing.T) {
	bubble(t, &scripted{}, func(t *testing.T, p cloudProvider, l *line) {
		usable := func() error {
			_, err := p.InstanceTypes(t.Context(), pool())
			return err
		}
		if err := usable(); err != nil {
			t.Fatal(err)
		}
		l.kill()
		passed(30 * time.Second)
		if err := usable(); err != nil {
			t.Errorf("half a minute after it was gone: %v", err)
		}
		passed(time.Minute)
		var unready *cloud.NodeClassNotReadyError
		if err := usable(); !errors.As(err, &unready) {
			t.Errorf("one and a half minutes after it was gone: %v, want a NodeClassNotReadyError", err)
		}
		if _, err := p.Create(t.Context(), claim("a")); !errors.As(err, &unready) {
			t.Errorf("create: %v, want a NodeClassNotReadyError, so that the pods are planned again", err)
		}
		l.start(&scripted{})
		passed(2 * time.Minute)
		if err := usable(); err != nil {
			t.Errorf("after it is back: %v", err)
		}
	})
}

// A call that gets no answer is given up after half a minute. The minute for which the last catalogue is used begins with the call,
// and the message names that time.
func TestSilentSinceTheCall(t *testing.T) {
	hang := make(chan struct{})
	s := &scripted{get: func(string) *cloudv1.GetInstanceResponse { <-hang; return &cloudv1.GetInstanceResponse{} }}
	synctest.Test(t, func(t *testing.T) {
		hang = make(chan struct{})
		p, l := connect(t, s)
		defer l.kill()
		defer p.Close()
		defer close(hang)
		if _, err := p.InstanceTypes(t.Context(), pool()); err != nil {
			t.Fatal(err)
		}
		passed(time.Minute)
		start := time.Now()
		var unreachable *remote.UnreachableError
		if _, err := p.Get(t.Context(), "script://x"); !errors.As(err, &unreachable) {
			t.Fatalf("get: %v, want an UnreachableError", err)
		}
		passed(29 * time.Second)
		if _, err := p.InstanceTypes(t.Context(), pool()); err != nil {
			t.Errorf("within a minute: %v", err)
		}
		passed(time.Second)
		var unready *cloud.NodeClassNotReadyError
		_, err := p.InstanceTypes(t.Context(), pool())
		if want := "has not answered since " + start.UTC().Format(time.RFC3339); !errors.As(err, &unready) || !strings.Contains(err.Error(), want) {
			t.Errorf("after a minute: %v, want a NodeClassNotReadyError that contains %q", err, want)
		}
	})
}

// Changes of a catalogue are applied: a price changes, one type is removed and another one is added.
func TestDeltas(t *testing.T) {
	s := &scripted{catalogue: func(stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
		return sendAndWait(stream,
			&cloudv1.WatchCatalogueResponse{Reset_: true, InstanceTypes: []*cloudv1.InstanceType{machineType("large"), machineType("small")}},
			&cloudv1.WatchCatalogueResponse{Commit: true},
			&cloudv1.WatchCatalogueResponse{Removed: []string{"large"}, InstanceTypes: []*cloudv1.InstanceType{machineType("medium")}, Commit: true},
			&cloudv1.WatchCatalogueResponse{Commit: true, ShiftedZones: []string{"a"}, Updates: []*cloudv1.OfferingUpdate{{
				Offering: &cloudv1.OfferingKey{InstanceType: "small", Zone: "a", CapacityType: "on-demand"}, Price: 0.05,
			}}})
	}}
	bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
		if _, err := p.InstanceTypes(t.Context(), pool()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		types, err := p.InstanceTypes(t.Context(), pool())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range types {
			got = append(got, fmt.Sprintf("%s %.2f %t", it.Name, it.Offerings[0].Price, it.Offerings[0].Available))
		}
		if want := "medium 0.20 true, small 0.05 false"; strings.Join(got, ", ") != want {
			t.Errorf("types are %s, want %s", strings.Join(got, ", "), want)
		}
		if zones := p.(cloud.Shifter).ShiftedZones(t.Context()); len(zones) != 1 || zones[0] != "a" {
			t.Errorf("shifted zones are %v", zones)
		}
	})
}

// An exhausted offering is unavailable until retry_after has passed.
func TestExhausted(t *testing.T) {
	key := &cloudv1.OfferingKey{InstanceType: "small", Zone: "b", CapacityType: "on-demand"}
	s := &scripted{create: func(context.Context, *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
		return &cloudv1.CreateInstanceResponse{Failure: &cloudv1.Failure{
			Kind: cloudv1.FailureKind_FAILURE_KIND_INSUFFICIENT_CAPACITY, Message: "none left", Exhausted: []*cloudv1.OfferingKey{key},
			RetryAfter: durationpb.New(10 * time.Minute),
		}}, nil
	}}
	bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
		available := func() string {
			types, err := p.InstanceTypes(t.Context(), pool())
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(types[0].Offerings[0].Available, types[0].Offerings[1].Available)
		}
		var capacity *cloud.InsufficientCapacityError
		if _, err := p.Create(t.Context(), claim("a")); !errors.As(err, &capacity) {
			t.Fatalf("create: %v, want an InsufficientCapacityError", err)
		}
		if got := available(); got != "true false" {
			t.Errorf("zones a and b are available: %s", got)
		}
		passed(10 * time.Minute)
		if got := available(); got != "true true" {
			t.Errorf("after ten minutes zones a and b are available: %s", got)
		}
	})
}

// If one instance type is invalid, the whole message is rejected.
func TestLiesAboutTypes(t *testing.T) {
	for name, lie := range map[string]func(m *cloudv1.InstanceType){
		"negative price":        func(m *cloudv1.InstanceType) { m.Offerings[0].Price = -1 },
		"price is no number":    func(m *cloudv1.InstanceType) { m.Offerings[0].Price = math.NaN() },
		"price is infinite":     func(m *cloudv1.InstanceType) { m.Offerings[0].Price = math.Inf(1) },
		"no memory":             func(m *cloudv1.InstanceType) { delete(m.Capacity, "memory") },
		"negative cpu":          func(m *cloudv1.InstanceType) { m.Capacity["cpu"] = "-4" },
		"exponent":              func(m *cloudv1.InstanceType) { m.Capacity["memory"] = "1e999999999" },
		"more than there is":    func(m *cloudv1.InstanceType) { m.Allocatable = map[string]string{"cpu": "5"} },
		"zone is no label":      func(m *cloudv1.InstanceType) { m.Offerings[0].Zone = "zone a" },
		"unknown capacity type": func(m *cloudv1.InstanceType) { m.Offerings[0].CapacityType = "free" },
		"twice the same":        func(m *cloudv1.InstanceType) { m.Offerings[0].Zone = "b" },
		"no offering":           func(m *cloudv1.InstanceType) { m.Offerings = nil },
		"no architecture":       func(m *cloudv1.InstanceType) { m.Requirements = m.Requirements[1:] },
		"a label of Karpenter": func(m *cloudv1.InstanceType) {
			m.Requirements = append(m.Requirements, &cloudv1.Requirement{Key: apiv1.NodePoolLabelKey, Operator: "In", Values: []string{"other"}})
		},
		"too many offerings": func(m *cloudv1.InstanceType) {
			for n := range 3_000 {
				m.Offerings = append(m.Offerings, &cloudv1.Offering{Zone: fmt.Sprint("z", n), CapacityType: "spot"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := machineType("liar")
			lie(m)
			s := &scripted{catalogue: func(stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
				return sendAndWait(stream, &cloudv1.WatchCatalogueResponse{Reset_: true, InstanceTypes: []*cloudv1.InstanceType{machineType("small"), m}, Commit: true})
			}}
			bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
				_, err := p.InstanceTypes(t.Context(), pool())
				var unready *cloud.NodeClassNotReadyError
				var rejected *wire.Rejection
				if !errors.As(err, &unready) || !errors.As(err, &rejected) {
					t.Errorf("types: %v, want a NodeClassNotReadyError because of a Rejection", err)
				}
			})
		})
	}
}

// A catalogue with far too many types is rejected before all of them are read.
func TestTenMillionTypes(t *testing.T) {
	sent := 0
	s := &scripted{catalogue: func(stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
		for n := 0; n < 10_000_000; n += 100 {
			m := &cloudv1.WatchCatalogueResponse{Reset_: n == 0}
			for k := range 100 {
				m.InstanceTypes = append(m.InstanceTypes, machineType(fmt.Sprint("t", n+k)))
			}
			if err := stream.Send(m); err != nil {
				return err
			}
			sent = n
		}
		return nil
	}}
	bubble(t, s, func(t *testing.T, p cloudProvider, l *line) {
		_, err := p.InstanceTypes(t.Context(), pool())
		var rejected *wire.Rejection
		if !errors.As(err, &rejected) || rejected.Reason != wire.TooMany {
			t.Errorf("types: %v, want a Rejection too_many", err)
		}
		l.kill()
		if sent > 50_000 {
			t.Errorf("the provider could send %d types", sent)
		}
	})
}

// An invalid response to a launch is an error, and the claim gets no instance.
func TestLiesAboutInstances(t *testing.T) {
	for name, lie := range map[string]func(i *cloudv1.Instance){
		"instance of another claim": func(i *cloudv1.Instance) { i.ProviderId = "script://uid-first" },
		"another token":             func(i *cloudv1.Instance) { i.Token = "uid-first" },
		"no token":                  func(i *cloudv1.Instance) { i.Token = "" },
		"id of another cloud":       func(i *cloudv1.Instance) { i.ProviderId = "other:///i-1" },
		"no id":                     func(i *cloudv1.Instance) { i.ProviderId = "" },
		"another zone": func(i *cloudv1.Instance) {
			i.Offering = &cloudv1.OfferingKey{InstanceType: "small", Zone: "b", CapacityType: "on-demand"}
		},
		"too small":               func(i *cloudv1.Instance) { i.Allocatable = map[string]string{"cpu": "500m"} },
		"is being ended":          func(i *cloudv1.Instance) { i.Ending = true },
		"annotation of Karpenter": func(i *cloudv1.Instance) { i.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} },
		"no type":                 func(i *cloudv1.Instance) { i.Offering = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{create: func(_ context.Context, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
				i := instance(r)
				if r.GetToken() != "uid-first" {
					lie(i)
				}
				return &cloudv1.CreateInstanceResponse{Instance: i}, nil
			}}
			bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
				if _, err := p.Create(t.Context(), claim("first")); err != nil {
					t.Fatal(err)
				}
				c := claim("a")
				c.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}
				_, err := p.Create(t.Context(), c)
				var launch *cloud.LaunchError
				if !errors.As(err, &launch) || launch.Reason != "ProviderAnswerRejected" {
					t.Errorf("create: %v, want a LaunchError ProviderAnswerRejected", err)
				}
			})
		})
	}
}

// An invalid response about existing instances is an error, so that no claim counts as having lost its instance.
func TestLiesAboutLists(t *testing.T) {
	one := func(id string) *cloudv1.Instance { return &cloudv1.Instance{ProviderId: id} }
	endless := &cloudv1.ListInstancesResponse{Instances: []*cloudv1.Instance{one("script://a")}, NextPageToken: "again"}
	for name, answer := range map[string]*cloudv1.ListInstancesResponse{
		"twice":    {Instances: []*cloudv1.Instance{one("script://a"), one("script://a")}},
		"foreign":  {Instances: []*cloudv1.Instance{one("other://a")}},
		"endless":  endless,
		"nameless": {Instances: []*cloudv1.Instance{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{list: func() *cloudv1.ListInstancesResponse { return answer }}
			bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
				var rejected *wire.Rejection
				if list, err := p.List(t.Context()); !errors.As(err, &rejected) {
					t.Errorf("list gives %v, %v, want a Rejection", list, err)
				}
			})
		})
	}
	s := &scripted{get: func(string) *cloudv1.GetInstanceResponse {
		return &cloudv1.GetInstanceResponse{Instance: one("script://b")}
	}}
	bubble(t, s, func(t *testing.T, p cloudProvider, _ *line) {
		var rejected *wire.Rejection
		if i, err := p.Get(t.Context(), "script://a"); !errors.As(err, &rejected) {
			t.Errorf("get gives %v, %v, want a Rejection", i, err)
		}
	})
}
