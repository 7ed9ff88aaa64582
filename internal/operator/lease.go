package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"

	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// renewDeadline is the time after which a leader that cannot renew its Lease ends. It is the default of controller-runtime.
const renewDeadline = 10 * time.Second

// newLock returns the lock of the leader election, nil without leader election. It calls restored once the API server returns an
// older version of the Lease than before. The lock has a client of its own, so that the rate limit of other requests does not
// delay the renewal of the Lease. It publishes no events until its EventRecorder is set.
func newLock(config *rest.Config, s *settings.Settings, restored func(error)) (*resourcelock.LeaseLock, error) {
	if s.DisableLeaderElection {
		return nil, nil
	}
	lock, err := leaderelection.NewResourceLock(config, noRecorders{}, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: s.LeaderElectionName, LeaderElectionNamespace: s.LeaderElectionNamespace,
		RenewDeadline: renewDeadline,
	})
	if err != nil {
		return nil, fmt.Errorf("make lock of the leader election: %w", err)
	}
	lease, ok := lock.(*resourcelock.LeaseLock)
	if !ok {
		return nil, fmt.Errorf("make lock of the leader election: %s is not a Lease", lock.Describe())
	}
	lease.Client = &leases{LeasesGetter: lease.Client, restored: restored}
	return lease, nil
}

// noRecorders provides no recorders of events.
type noRecorders struct{}

func (noRecorders) GetEventRecorderFor(string) record.EventRecorder { return nil }
func (noRecorders) GetEventRecorder(string) events.EventRecorder    { return nil }

// leases calls restored once a Lease has an older version than before. Each response has the latest version, so that happens
// only if the API server was restored to an earlier state. Then the caches and the memory of this process are of a state that
// does not exist any more: writes that it remembers are undone, and deleted objects exist again.
//
// A leader always notices that: it renews the Lease every few seconds. With its version the renewal conflicts, and then it
// reads the restored one. It is used for one Lease only.
type leases struct {
	coordinationclient.LeasesGetter
	restored func(error)

	mu     sync.Mutex // guards latest
	latest string     // the latest version, empty before the first response
}

// Leases implements coordinationclient.LeasesGetter.
func (l *leases) Leases(namespace string) coordinationclient.LeaseInterface {
	return &leaseClient{LeaseInterface: l.LeasesGetter.Leases(namespace), leases: l}
}

// observe compares the version of a response with those of earlier ones. Versions that cannot be compared are ignored.
func (l *leases) observe(lease *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err != nil {
		return lease, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(lease.ResourceVersion, l.latest); err == nil && order < 0 {
		l.restored(&restoredError{lease: lease.Namespace + "/" + lease.Name, now: lease.ResourceVersion, before: l.latest})
	}
	l.latest = lease.ResourceVersion
	return lease, nil
}

// leaseClient passes the responses to leases.
type leaseClient struct {
	coordinationclient.LeaseInterface
	leases *leases
}

// Get implements coordinationclient.LeaseInterface.
func (c *leaseClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return c.leases.observe(c.LeaseInterface.Get(ctx, name, o))
}

// Create implements coordinationclient.LeaseInterface.
func (c *leaseClient) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return c.leases.observe(c.LeaseInterface.Create(ctx, lease, o))
}

// Update implements coordinationclient.LeaseInterface.
func (c *leaseClient) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return c.leases.observe(c.LeaseInterface.Update(ctx, lease, o))
}

// A restoredError is why the program ends after the API server was restored to an earlier state.
type restoredError struct {
	lease, now, before string
}

// Error implements error.
func (e *restoredError) Error() string {
	return fmt.Sprintf("the API server was restored to an earlier state: Lease %s has resource version %s and had %s; "+
		"this process ends, because its caches are of the later state; fix: none needed if it is started again", e.lease, e.now, e.before)
}
