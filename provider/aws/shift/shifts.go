package shift

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	arctypes "github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// API is the part of ARC that lists zonal shifts.
type API interface {
	GetManagedResource(context.Context, *arczonalshift.GetManagedResourceInput, ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error)
}

var _ API = (*arczonalshift.Client)(nil)

// every is the interval at which shifts are read.
const every = 30 * time.Second

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// Config has the dependencies and settings of Shifts.
type Config struct {
	API   API
	Clock clock.PassiveClock
	// Cluster returns the cluster's ARN.
	Cluster  func(ctx context.Context) (string, error)
	Reader   client.Reader
	Recorder Recorder
}

// Shifts has the zones from which traffic is shifted away. It is safe for concurrent use. No lock is held during calls
// of ARC.
type Shifts struct {
	Config

	mu       sync.Mutex           // guards the rest
	until    map[string]time.Time // the end of each shift, by zone ID
	next     time.Time            // the earliest end of a shift, zero for none
	revision uint64
}

// New returns a Shifts without any shifts.
func New(c Config) *Shifts { return &Shifts{Config: c, until: map[string]time.Time{}} }

// Away reports whether traffic is shifted away from the zone with the ID.
func (s *Shifts) Away(zoneID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.until[zoneID]
	return ok && s.Clock.Now().Before(until)
}

// Any reports whether traffic is shifted away from some zone.
func (s *Shifts) Any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	for _, until := range s.until {
		if now.Before(until) {
			return true
		}
	}
	return false
}

// Revision returns a number that changes whenever a shift begins or ends.
func (s *Shifts) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.Clock.Now(); !s.next.IsZero() && !now.Before(s.next) {
		s.next = time.Time{}
		for _, until := range s.until {
			if now.Before(until) && (s.next.IsZero() || until.Before(s.next)) {
				s.next = until
			}
		}
		s.revision++
	}
	return s.revision
}

// Task returns the task that reads the shifts twice a minute.
func (s *Shifts) Task() periodic.Task {
	return periodic.Task{Label: "zonalshift", Run: func(ctx context.Context) (time.Duration, error) {
		return every, s.Refresh(ctx)
	}}
}

// Refresh reads the shifts from ARC, and publishes events on the pools in whose zones a shift begins or ends. A shift
// that ARC no longer lists is over immediately. After an error, known shifts stay until they expire.
func (s *Shifts) Refresh(ctx context.Context) error {
	arn, err := s.Cluster(ctx)
	if err != nil {
		return err
	}
	out, err := s.API.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)})
	if err != nil {
		return fmt.Errorf("read zonal shifts of %s: %w", arn, err)
	}
	began, ended := s.take(out.ZonalShifts)
	for _, zone := range began {
		log.FromContext(ctx).Info("zonal shift began, no nodes are launched or disrupted voluntarily in this zone", "zone-id", zone)
	}
	for _, zone := range ended {
		log.FromContext(ctx).Info("zonal shift ended", "zone-id", zone)
	}
	return s.tell(ctx, began, ended)
}

// take replaces the stored shifts, and returns the IDs of the zones whose shift has begun or ended.
func (s *Shifts) take(list []arctypes.ZonalShiftInResource) (began, ended []string) {
	now := s.Clock.Now()
	fresh := map[string]time.Time{}
	for _, z := range list {
		id, until := aws.ToString(z.AwayFrom), aws.ToTime(z.ExpiryTime)
		if z.AppliedStatus == arctypes.AppliedStatusApplied && now.Before(until) && until.After(fresh[id]) {
			fresh[id] = until
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range fresh {
		if _, known := s.until[id]; !known {
			began = append(began, id)
		}
	}
	for id := range s.until {
		if _, still := fresh[id]; !still {
			ended = append(ended, id)
		}
	}
	if !maps.Equal(fresh, s.until) {
		s.revision++
	}
	s.until, s.next = fresh, time.Time{}
	for _, until := range fresh {
		if s.next.IsZero() || until.Before(s.next) {
			s.next = until
		}
	}
	slices.Sort(began)
	slices.Sort(ended)
	return began, ended
}

// tell publishes events on the NodePools that may launch nodes in the zones.
func (s *Shifts) tell(ctx context.Context, began, ended []string) error {
	if len(began)+len(ended) == 0 {
		return nil
	}
	var pools apiv1.NodePoolList
	if err := s.Reader.List(ctx, &pools); err != nil {
		return fmt.Errorf("list pools: %w", err)
	}
	var classes awsv1.EC2NodeClassList
	if err := s.Reader.List(ctx, &classes); err != nil {
		return fmt.Errorf("list node classes: %w", err)
	}
	for i := range pools.Items {
		zones := zonesOf(&pools.Items[i], classes.Items)
		if names := among(began, zones); names != "" {
			s.Recorder.Event(&pools.Items[i], corev1.EventTypeWarning, telemetry.EventZonalShiftActive,
				"Zonal shift away from "+names+": no nodes are launched or disrupted voluntarily there, and instances do not end")
		}
		if names := among(ended, zones); names != "" {
			s.Recorder.Event(&pools.Items[i], corev1.EventTypeNormal, telemetry.EventZonalShiftCleared,
				"Zonal shift away from "+names+" ended")
		}
	}
	return nil
}

// zonesOf returns the names of the zones in which the pool may launch nodes, by zone ID.
func zonesOf(pool *apiv1.NodePool, classes []awsv1.EC2NodeClass) map[string]string {
	zones := map[string]string{}
	ref := pool.Spec.Template.Spec.NodeClassRef
	wants := require.FromSpec(pool.Spec.Template.Spec.Requirements)
	for _, class := range classes {
		if ref == nil || ref.Group != awsv1.Group || ref.Name != class.Name {
			continue
		}
		for _, n := range class.Status.Subnets {
			here := require.FromLabels(map[string]string{corev1.LabelTopologyZone: n.Zone, awsv1.LabelTopologyZoneID: n.ZoneID})
			if _, ok := wants.Intersects(here); ok {
				zones[n.ZoneID] = n.Zone
			}
		}
	}
	return zones
}

// among returns a text with the names of those IDs that are in zones.
func among(ids []string, zones map[string]string) string {
	var names []string
	for _, id := range ids {
		if name, ok := zones[id]; ok {
			names = append(names, fmt.Sprintf("%s (%s)", name, id))
		}
	}
	return strings.Join(names, ", ")
}
