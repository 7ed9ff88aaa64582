package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// Instances lists and ends our instances.
type Instances interface {
	List(ctx context.Context) ([]instances.Instance, error)
	Terminate(ctx context.Context, i instances.Instance) error
}

// Launches knows which instances are wanted.
type Launches interface {
	Surplus(list []instances.Instance, claims []apiv1.NodeClaim) map[string]bool
	Keep(claims map[types.UID]bool)
}

// A Writer writes claims and nodes.
type Writer interface {
	// Merge writes what changed in obj since before was copied from it, without a lock.
	Merge(ctx context.Context, before, obj client.Object) error
	// DeleteNode deletes exactly this node, and reports whether it was there.
	DeleteNode(ctx context.Context, node *corev1.Node) (deleted bool, err error)
}

const (
	// grace is the age below which an instance is left alone: its claim may not say yet that it has it.
	grace = 30 * time.Second
	// The first rounds come quickly, to clean up what a crash left.
	quickRounds = 20
	quickEvery  = 10 * time.Second
	slowEvery   = 2 * time.Minute
)

// A Collector terminates Karpenter's instances without a claim to which they belong or will be assigned. Tags alone decide
// which instances are Karpenter's: those of this cluster, a pool and a node class. It never touches others.
type Collector struct {
	Instances Instances
	Launches  Launches
	Cluster   string
	// Client may read from a cache; Reader reads claims as they are stored now.
	Client client.Reader
	Reader client.Reader
	Writer Writer
	Clock  clock.PassiveClock
}

// Task repeats Collect: every ten seconds at first, later every two minutes.
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

// Collect looks once. Instances are listed before claims: what is launched in between is in neither list or has a claim.
func (c *Collector) Collect(ctx context.Context) error {
	list, err := c.Instances.List(ctx)
	if err != nil {
		return err
	}
	var claims apiv1.NodeClaimList
	if err := c.Reader.List(ctx, &claims); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	there := map[types.UID]bool{}
	for i := range claims.Items {
		there[claims.Items[i].UID] = true
	}
	surplus := c.Launches.Surplus(list, claims.Items)
	c.Launches.Keep(there)
	var errs []error
	for _, i := range list {
		if surplus[i.ID] && !i.Ending() && c.owned(i) && c.Clock.Since(i.Launched) >= grace {
			errs = append(errs, c.end(ctx, i))
		}
	}
	return errors.Join(errs...)
}

// owned reports whether the instance is ours by its tags. The list was asked for by them already; this costs nothing and
// an instance that is not ours would cost much.
func (c *Collector) owned(i instances.Instance) bool {
	return i.Tags[awsv1.TagEKSClusterName] == c.Cluster && i.Tags[awsv1.TagNodePool] != "" && i.Tags[awsv1.TagNodeClass] != ""
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
