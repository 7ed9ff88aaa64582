package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// Instances lists and terminates Karpenter's instances.
type Instances interface {
	List(ctx context.Context) ([]instances.Instance, error)
	Terminate(ctx context.Context, i instances.Instance) error
}

// Launches determines which instances have or will get a claim.
type Launches interface {
	Surplus(list []instances.Instance, claims []apiv1.NodeClaim) map[string]bool
	Keep(claims map[types.UID]bool)
}

// A Writer writes claims and nodes.
type Writer interface {
	// Merge writes the difference between before and obj, without optimistic locking.
	Merge(ctx context.Context, before, obj client.Object) error
	// DeleteNode deletes the node with the same name and UID, and reports whether it existed.
	DeleteNode(ctx context.Context, node *corev1.Node) (deleted bool, err error)
}

const (
	// grace is the age below which an instance is ignored, because the status of its claim may not have its provider ID
	// yet.
	grace = 30 * time.Second
	// The first quickRounds rounds have the interval quickEvery, to terminate instances that a crash left without a
	// claim.
	quickRounds = 20
	quickEvery  = 10 * time.Second
	// slowEvery is the interval of all later rounds. As grace is 30 seconds, an instance without a claim runs for less than
	// a minute.
	slowEvery = 20 * time.Second
)

// A Breaker decides which of many terminations are allowed.
type Breaker interface {
	// Admit is the method of withhold.Breaker.
	Admit(ctx context.Context, cause withhold.Cause, classes []string, managed int) (allowed func(class string) bool, err error)
	// KeptInUse sets how many instances are kept because their node is in use.
	KeptInUse(count int)
}

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// A Collector terminates Karpenter's instances that belong to no claim and will be assigned to none. Tags alone
// decide which instances are Karpenter's: they have the tags of this cluster and of a node class, and the tag of a
// pool or of a launch. It terminates no other instances, and none whose node is in use (see withhold.InUse). If many
// instances remain to be terminated, the Breaker may withhold the terminations.
type Collector struct {
	Instances Instances
	Launches  Launches
	Cluster   string
	// Client may read from a cache with an index of pods by node. Reader reads from the API server.
	Client   client.Reader
	Reader   client.Reader
	Writer   Writer
	Breaker  Breaker
	Recorder Recorder
	Clock    clock.PassiveClock
}

// Task returns the task that repeats Collect: at first every quickEvery, later every slowEvery.
func (c *Collector) Task() periodic.Task {
	rounds := 0
	return periodic.Task{Label: "instance.garbagecollection", Run: func(ctx context.Context) (time.Duration, error) {
		if err := c.Collect(ctx); err != nil {
			return 0, err
		}
		rounds++
		if rounds <= quickRounds {
			return quickEvery, nil
		}
		return slowEvery, nil
	}}
}

// Collect makes one round. Instances are listed before claims, because the claim of an instance exists before the
// instance. Claims are read from the cache first. Only if an instance has no claim there, claims are read from the API
// server. So are the pods of its node, before it is terminated.
func (c *Collector) Collect(ctx context.Context) error {
	list, err := c.Instances.List(ctx)
	if err != nil {
		return err
	}
	var chosen []instances.Instance
	for _, r := range []client.Reader{c.Client, c.Reader} {
		var claims apiv1.NodeClaimList
		if err := r.List(ctx, &claims); err != nil {
			return fmt.Errorf("list claims: %w", err)
		}
		chosen = c.surplus(list, claims.Items)
		if len(chosen) == 0 || r == c.Reader {
			c.keep(claims.Items)
			break
		}
	}
	kept, chosen, err := c.inUse(ctx, c.Client, chosen)
	if err != nil {
		return err
	}
	managed := slices.DeleteFunc(slices.Clone(list), instances.Instance.Ending)
	allowed, err := c.Breaker.Admit(ctx, withhold.CauseNoClaim, instances.ClassesOf(chosen), len(managed))
	if err != nil {
		return err
	}
	chosen = slices.DeleteFunc(chosen, func(i instances.Instance) bool { return !allowed(i.Class()) })
	late, chosen, err := c.inUse(ctx, c.Reader, chosen)
	if err != nil {
		return err
	}
	c.Breaker.KeptInUse(kept + late)
	var errs []error
	for _, i := range chosen {
		errs = append(errs, c.end(ctx, i))
	}
	return errors.Join(errs...)
}

// surplus returns Karpenter's instances that belong to no claim and will be assigned to none (Launches.Surplus). It omits
// instances that are younger than grace or are ending already.
func (c *Collector) surplus(list []instances.Instance, claims []apiv1.NodeClaim) []instances.Instance {
	surplus := c.Launches.Surplus(list, claims)
	return slices.DeleteFunc(slices.Clone(list), func(i instances.Instance) bool {
		return !surplus[i.ID] || i.Ending() || !c.owned(i) || c.Clock.Since(i.Launched) < grace
	})
}

// keep calls Launches.Keep with the existing claims.
func (c *Collector) keep(claims []apiv1.NodeClaim) {
	there := map[types.UID]bool{}
	for i := range claims {
		there[claims[i].UID] = true
	}
	c.Launches.Keep(there)
}

// owned reports whether the instance is Karpenter's by its tags. The list was already filtered by tags. The second
// check prevents the termination of other instances in case the filter fails. Instances of claims without a pool have
// an empty tag of the pool, but they have the tag of their launch.
func (c *Collector) owned(i instances.Instance) bool {
	return i.Tags[awsv1.TagEKSClusterName] == c.Cluster && i.Tags[awsv1.TagNodeClass] != "" &&
		(i.Tags[awsv1.TagNodePool] != "" || i.Tags[instances.TagLaunch] != "")
}

// inUse returns how many of the chosen instances have a node that is in use, and the other instances. It lists pods with the given
// reader. It publishes an event on each such node.
func (c *Collector) inUse(ctx context.Context, pods client.Reader, chosen []instances.Instance) (kept int, rest []instances.Instance, err error) {
	ids := make([]string, len(chosen))
	for n, i := range chosen {
		ids[n] = i.ProviderID()
	}
	used, err := withhold.InUse(ctx, c.Client, pods, ids)
	if err != nil {
		return 0, nil, err
	}
	for _, i := range chosen {
		use, is := used[i.ProviderID()]
		if !is {
			rest = append(rest, i)
			continue
		}
		kept++
		c.Recorder.Event(use.Node, corev1.EventTypeWarning, telemetry.EventTerminationWithheld, fmt.Sprintf(
			"Instance %s has no NodeClaim but is not terminated: %s", i.ID, use))
	}
	return kept, rest, nil
}

func (c *Collector) end(ctx context.Context, i instances.Instance) error {
	if err := c.Instances.Terminate(ctx, i); err != nil && !errors.Is(err, cloud.ErrNotFound) {
		return err
	}
	log.FromContext(ctx).Info("terminated instance without nodeclaim", "instance-id", i.ID, "instance-type", i.Type, "zone", i.Zone)
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for n := range nodes.Items {
		if nodes.Items[n].Spec.ProviderID != i.ProviderID() {
			continue
		}
		if _, err := c.Writer.DeleteNode(ctx, &nodes.Items[n]); err != nil {
			return err
		}
	}
	return nil
}
