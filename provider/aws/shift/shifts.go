package shift

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// API is the part of ARC that lists zonal shifts.
type API interface {
	GetManagedResource(context.Context, *arczonalshift.GetManagedResourceInput, ...func(*arczonalshift.Options)) (*arczonalshift.GetManagedResourceOutput, error)
}

var _ API = (*arczonalshift.Client)(nil)

// every is the interval at which shifts are read.
const every = 30 * time.Second

// Config has the dependencies and settings of Shifts.
type Config struct {
	API   API
	Clock clock.PassiveClock
	// Cluster returns the cluster's ARN.
	Cluster  func(ctx context.Context) (string, error)
	Reader   client.Reader
	Recorder telemetry.Recorder
}

// Shifts has the zones from which traffic is shifted away. It is safe for concurrent use. No lock is held during calls
// of ARC.
type Shifts struct {
	Config

	// untold are the IDs of zones whose shift has begun or ended, and about which no events are published yet. Only
	// Refresh uses them, whose calls do not overlap.
	untold struct{ began, ended []string }

	mu       sync.Mutex           // guards the rest
	until    map[string]time.Time // the end of each shift, by zone ID
	next     time.Time            // the earliest end of a shift, zero for none
	known    bool                 // see Known
	revision uint64
}

// New returns a Shifts without any shifts. They are not known yet.
func New(c Config) *Shifts { return &Shifts{Config: c, until: map[string]time.Time{}} }

// Away reports whether traffic is shifted away from the zone with the ID.
func (s *Shifts) Away(zoneID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.until[zoneID]
	return ok && s.Clock.Now().Before(until)
}

// Known reports whether a call of Refresh has got an answer. Until then, Away returns false although traffic may be shifted away
// from a zone. A missing permission is an answer, and so is that EKS or ARC does not have the cluster or rejects the request: another
// call would return the same, so the cluster counts as one without shifts. No connection, throttling and errors inside AWS are none.
func (s *Shifts) Known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
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
// that ARC no longer lists is over immediately. After an error of ARC, known shifts stay until they expire. If the pools
// cannot be listed, the next call publishes the events. Calls must not overlap.
func (s *Shifts) Refresh(ctx context.Context) error {
	list, err := s.ask(ctx)
	if err != nil {
		if fault.Denied(err) || fault.Code(err) == fault.NoResource || fault.Code(err) == fault.Invalid {
			s.mu.Lock()
			s.known = true
			s.mu.Unlock()
		}
		return err
	}
	began, ended := s.take(list)
	for _, zone := range began {
		log.FromContext(ctx).Info("zonal shift began, no nodes are launched or disrupted voluntarily in this zone", "zone-id", zone)
	}
	for _, zone := range ended {
		log.FromContext(ctx).Info("zonal shift ended", "zone-id", zone)
	}
	s.untold.began, s.untold.ended = append(s.untold.began, began...), append(s.untold.ended, ended...)
	return s.tell(ctx)
}

// ask returns the zonal shifts of the cluster.
func (s *Shifts) ask(ctx context.Context) ([]arctypes.ZonalShiftInResource, error) {
	arn, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.API.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)})
	if err != nil {
		return nil, fmt.Errorf("read zonal shifts of %s: %w", arn, err)
	}
	return out.ZonalShifts, nil
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
	s.until, s.next, s.known = fresh, time.Time{}, true
	for _, until := range fresh {
		if s.next.IsZero() || until.Before(s.next) {
			s.next = until
		}
	}
	slices.Sort(began)
	slices.Sort(ended)
	return began, ended
}

// tell publishes events about untold on the NodePools that may launch nodes in the zones, one event for each zone.
func (s *Shifts) tell(ctx context.Context) error {
	if len(s.untold.began)+len(s.untold.ended) == 0 {
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
		pool := &pools.Items[i]
		zones := zonesOf(pool, classes.Items)
		publish := func(ids []string, eventType, reason, what string) {
			for _, id := range ids {
				if name, ok := zones[id]; ok {
					s.Recorder.Publish(telemetry.Event{
						Object: pool, Type: eventType, Reason: reason, Dedupe: []string{string(pool.UID), id},
						Message: fmt.Sprintf("Zonal shift away from %s (%s)%s", name, id, what),
					})
				}
			}
		}
		publish(s.untold.began, corev1.EventTypeWarning, telemetry.EventZonalShiftActive,
			": no nodes are launched or disrupted voluntarily there, and instances do not end")
		publish(s.untold.ended, corev1.EventTypeNormal, telemetry.EventZonalShiftCleared, " ended")
	}
	s.untold.began, s.untold.ended = nil, nil
	return nil
}

// aliases map deprecated label keys to the keys that replace them.
var aliases = apiv1.CoreLabels().With(awsv1.Labels()).Aliases

// zonesOf returns the names of the zones in which the pool may launch nodes, by zone ID.
func zonesOf(pool *apiv1.NodePool, classes []awsv1.EC2NodeClass) map[string]string {
	zones := map[string]string{}
	ref := pool.Spec.Template.Spec.NodeClassRef
	wants := require.FromSpec(pool.Spec.Template.Spec.Requirements).Normalize(aliases)
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
