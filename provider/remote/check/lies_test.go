package check_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/check"
)

// A liar passes all calls to the toy, and changes some answers.
type liar struct {
	cloudv1.UnimplementedProviderServiceServer
	toy cloudv1.ProviderServiceClient

	create func(toy cloudv1.ProviderServiceClient, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error)
	list   func(*cloudv1.ListInstancesResponse)
	get    func(*cloudv1.GetInstanceResponse)
	drift  func(*cloudv1.CheckDriftResponse)
}

func (l *liar) GetInfo(ctx context.Context, r *cloudv1.GetInfoRequest) (*cloudv1.GetInfoResponse, error) {
	return l.toy.GetInfo(ctx, r)
}

func (l *liar) ValidateNodeClass(ctx context.Context, r *cloudv1.ValidateNodeClassRequest) (*cloudv1.ValidateNodeClassResponse, error) {
	return l.toy.ValidateNodeClass(ctx, r)
}

func (l *liar) DeleteInstance(ctx context.Context, r *cloudv1.DeleteInstanceRequest) (*cloudv1.DeleteInstanceResponse, error) {
	return l.toy.DeleteInstance(ctx, r)
}

func (l *liar) WatchCatalogue(r *cloudv1.WatchCatalogueRequest, to grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
	from, err := l.toy.WatchCatalogue(to.Context(), r)
	if err != nil {
		return err
	}
	for {
		m, err := from.Recv()
		if err != nil {
			return err
		}
		if err := to.Send(m); err != nil {
			return err
		}
	}
}

func (l *liar) CreateInstance(ctx context.Context, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
	if l.create != nil {
		return l.create(l.toy, r)
	}
	return l.toy.CreateInstance(ctx, r)
}

func (l *liar) ListInstances(ctx context.Context, r *cloudv1.ListInstancesRequest) (*cloudv1.ListInstancesResponse, error) {
	m, err := l.toy.ListInstances(ctx, r)
	if err == nil && l.list != nil {
		l.list(m)
	}
	return m, err
}

func (l *liar) GetInstance(ctx context.Context, r *cloudv1.GetInstanceRequest) (*cloudv1.GetInstanceResponse, error) {
	m, err := l.toy.GetInstance(ctx, r)
	if err == nil && l.get != nil {
		l.get(m)
	}
	return m, err
}

func (l *liar) CheckDrift(ctx context.Context, r *cloudv1.CheckDriftRequest) (*cloudv1.CheckDriftResponse, error) {
	m, err := l.toy.CheckDrift(ctx, r)
	if err == nil && l.drift != nil {
		l.drift(m)
	}
	return m, err
}

// Each lie makes the check fail that states the broken rule, and the problem says what the provider did.
func TestLies(t *testing.T) {
	dir, err := os.MkdirTemp("", "lies") // in the system's directory, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "toy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, examples+"/providers/go").CombinedOutput(); err != nil {
		t.Fatalf("build the toy: %v\n%s", err, out)
	}
	launches := &atomic.Int64{}
	for name, tt := range map[string]struct {
		liar           *liar
		check, problem string
	}{
		"drift of each instance": {
			&liar{drift: func(m *cloudv1.CheckDriftResponse) { m.Reason = "ImageDrift" }},
			"a fresh instance has not drifted", `drift is "ImageDrift"`,
		},
		"the zone is another one": {
			&liar{create: func(toy cloudv1.ProviderServiceClient, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
				m, err := toy.CreateInstance(context.Background(), r)
				if err == nil && m.GetInstance() != nil {
					m.Instance.Offering.Zone = "elsewhere"
				}
				return m, err
			}},
			"create launches what the claim requires", "elsewhere",
		},
		"the launch is of another token": {
			&liar{create: func(toy cloudv1.ProviderServiceClient, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
				m, err := toy.CreateInstance(context.Background(), r)
				if err == nil && m.GetInstance() != nil {
					m.Instance.ProviderId = fmt.Sprint("toy://launch-", launches.Add(1))
				}
				return m, err
			}},
			"create twice returns one instance", "second create gave toy://launch-",
		},
		"instances are not listed": {
			&liar{list: func(m *cloudv1.ListInstancesResponse) { m.Instances = nil }},
			"get, list and delete agree", "list gives []",
		},
		"instances are not found": {
			&liar{get: func(m *cloudv1.GetInstanceResponse) {
				m.Instance, m.Failure = nil, &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_NOT_FOUND, Message: "never heard of it"}
			}},
			"get, list and delete agree", "never heard of it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			lies := lying(t, dir, program, tt.liar)
			report, err := check.Run(t.Context(), check.Options{
				Clock: clock.RealClock{}, Patience: 5 * time.Second, // a check that waits for what a liar hides ends early
				Connect: func(ctx context.Context, classes client.Reader) (*remote.Provider, error) {
					return remote.Connect(ctx, remote.Config{
						Address: "unix://" + lies, Reader: classes, Clock: clock.RealClock{}, Metrics: remote.NewMetrics(nil),
					})
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(report.Lines, func(l check.Line) bool { return l.Check == tt.check })
			if at < 0 {
				t.Fatalf("there is no check %q", tt.check)
			}
			if line := report.Lines[at]; line.Result != "failed" || !strings.Contains(strings.Join(line.Problems, "\n"), tt.problem) {
				t.Errorf("%q is %s with %q, want a failure with %q", tt.check, line.Result, line.Problems, tt.problem)
			}
		})
	}
}

// lying starts the toy, and the liar before it. It returns the path of the liar's socket.
func lying(t *testing.T, dir, program string, l *liar) string {
	t.Helper()
	short := fmt.Sprint(time.Now().UnixNano())
	path := filepath.Join(dir, short)
	cmd := exec.CommandContext(t.Context(), program, "-listen", path+"t")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	conn, err := grpc.NewClient("unix://"+path+"t", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l.toy = cloudv1.NewProviderServiceClient(conn)
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	cloudv1.RegisterProviderServiceServer(server, l)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return path
}
