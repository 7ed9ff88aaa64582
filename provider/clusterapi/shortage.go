package clusterapi

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
)

// The time for which an offering is not used after a shortage. It is shortageFirst, doubles with each further
// shortage, and is at most shortageLongest.
const (
	shortageFirst   = 3 * time.Minute
	shortageLongest = 30 * time.Minute
	// shortageMemory is the time after the end of a shortage within which another shortage counts as a further one.
	shortageMemory = 10 * time.Minute
)

// An offeringKey identifies a template in a failure domain. Classes that share templates share shortages.
type offeringKey struct {
	namespace, cluster, template, domain string
}

// shortages records which offerings had no capacity. If a record is lost, one more launch of the offering fails.
type shortages struct {
	clock clock.PassiveClock

	mu    sync.Mutex // guards byKey
	byKey map[offeringKey]shortage
}

type shortage struct {
	until time.Time
	pause time.Duration
}

// mark records that the offering has no capacity from now on, for the time that follows from earlier shortages.
func (s *shortages) mark(k offeringKey) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[offeringKey]shortage{}
	}
	old, pause := s.byKey[k], shortageFirst
	switch {
	case now.Before(old.until):
		return // the shortage is already recorded: failures of concurrent launches count once
	case old.pause > 0 && now.Before(old.until.Add(shortageMemory)):
		pause = min(2*old.pause, shortageLongest)
	}
	s.byKey[k] = shortage{until: now.Add(pause), pause: pause}
}

// clear removes the record of the shortage, so that the next one counts as the first. It is called after a launch
// that succeeded.
func (s *shortages) clear(k offeringKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, k)
}

// short reports whether the offering must not be used now, because of a shortage.
func (s *shortages) short(k offeringKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.Now().Before(s.byKey[k].until)
}

// capacityReasons matches the reasons and messages by which clouds and hypervisors report missing capacity or a used-up quota.
var capacityReasons = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`insufficient[ _-]?\w*[ _-]?(capacity|resources?|quota|instance|host|cpu|memory|hosts)`,
	`InsufficientResources`, `(out|lack) of (capacity|stock|resources)`, `no (available|valid|free|suitable|eligible) (host|capacity|machine|node|server)s?`,
	`NoValidHost`, `NoAvailableHost`, `OutOfCapacity`, `not enough (capacity|resources|free)`, `capacity (is )?(not available|unavailable|exhausted|exceeded)`,
	`(RESOURCE|ZONE)_\w*EXHAUSTED`, `resource_?exhausted`, `resource_unavailable`, `StockOut`, `AllocationFailed`, `SkuNotAvailable`,
	`QuotaExceeded`, `(quota|limit)s? (has been |was |is )?(exceeded|reached)`, `exceed(s|ed|ing)? \w*[ -]?quota`, `(Instance|Vcpu|Spot)\w*LimitExceeded`,
	`MaxSpotInstanceCountExceeded`, `Unsupported.*Availability Zone`,
}, "|"))

// A verdict is why a Machine has no provider ID.
type verdict struct {
	short           bool // there is no capacity
	final           bool // the infrastructure provider reports that it does not try again
	reason, message string
}

// judge returns why the Machine has no provider ID. own has the regular expressions of the class for missing capacity.
// Expressions that cannot be parsed are ignored; the status of the class names them.
func judge(m *machine, own []string) verdict {
	v := verdict{reason: m.Status.Deprecated.V1Beta1.Reason, message: m.Status.Deprecated.V1Beta1.Message}
	v.final = v.reason != "" || v.message != ""
	if !v.final {
		for _, kind := range []string{"InfrastructureReady", "BootstrapConfigReady"} {
			if c := m.condition(kind); c.Status == metav1.ConditionFalse {
				v.reason, v.message = c.Reason, c.Message
				break
			}
		}
	}
	text := v.String()
	v.short = capacityReasons.MatchString(text)
	for _, pattern := range own {
		if r, err := regexp.Compile("(?i)" + pattern); err == nil && r.MatchString(text) {
			v.short = true
		}
	}
	if v.reason == "" && v.message == "" {
		v.message = noCause
	}
	return v
}

// noCause is the message of a verdict on a Machine that reports no problem. Usually no controller has reconciled it.
const noCause = "its conditions state no cause; check that the controllers of Cluster API run"

// String returns the reason and the message, as far as there are such.
func (v verdict) String() string {
	switch {
	case v.reason == "":
		return v.message
	case v.message == "":
		return v.reason
	}
	return v.reason + ": " + v.message
}

// checkPatterns returns an error for each regular expression of the class that cannot be parsed.
func checkPatterns(class *clusterapiv1alpha1.ClusterAPINodeClass) (errs []error) {
	for i, pattern := range class.Spec.CapacityErrors {
		if _, err := regexp.Compile("(?i)" + pattern); err != nil {
			errs = append(errs, fmt.Errorf("capacityErrors[%d]: %w", i, err))
		}
	}
	return errs
}
