package launch

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// Repeated failed launches leave no entries in the cache, while other claims still exist.
func TestLaunchCacheIsBounded(t *testing.T) {
	c := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	m := newLaunchCache(c)
	m.setInstance("stays", instances.Instance{ID: "i-0"})
	claims := map[types.UID]bool{"stays": true}
	for n := range 1000 {
		m.setOutcomeKnown(fmt.Sprint("token-", n))
		uid := types.UID(fmt.Sprint("claim-", n))
		m.setInstance(uid, instances.Instance{ID: fmt.Sprint("i-", n+1)})
		c.Step(time.Minute)
		m.keep(claims)
	}
	kept := 0
	for n := range 1000 {
		if m.isOutcomeKnown(fmt.Sprint("token-", n)) {
			kept++
		}
	}
	if most := int(tokenLife / time.Minute); kept > most {
		t.Errorf("%d outcomes of calls are kept, want at most %d", kept, most)
	}
	if len(m.launched) != 1 {
		t.Errorf("instances of %d claims are kept, want that of the one that is left", len(m.launched))
	}
	if !m.isOutcomeKnown("token-999") {
		t.Error("the outcome of the last call is forgotten")
	}
}

// A launch that ended with an instance after the caller looked for one is not started again.
func TestStartAfterLaunch(t *testing.T) {
	m := newLaunchCache(clocktesting.NewFakePassiveClock(time.Time{}))
	m.setInstance("a", instances.Instance{ID: "i-1"})
	i, ticket := m.start("a", func() *batch.Ticket[instances.Instance] {
		t.Error("the launch is started")
		return nil
	})
	if i.ID != "i-1" || ticket != nil {
		t.Errorf("instance %q, ticket %v", i.ID, ticket)
	}
}

// A claim that was read after another process repeated the call has the newer record. The process knows no end of that call yet.
func TestRecordOfARepeat(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := newLaunchCache(clocktesting.NewFakePassiveClock(now))
	own := newRecord([]types.UID{"a"}, 1, "params", now.Add(-time.Minute))
	m.records["a"] = own
	m.callEnds.Set(own.Token, now.Add(-50*time.Second))
	repeat := own
	repeat.Time = timeOfRecord(now.Add(-5 * time.Second))
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{UID: "a", Annotations: map[string]string{AnnotationLaunch: repeat.String()}}}
	if r, _ := m.record(claim); !r.Time.Equal(repeat.Time) {
		t.Errorf("the record is of %s, want that of the repeat, %s", r.Time, repeat.Time)
	}
	if at := m.observeEnd(repeat); !at.Equal(now) {
		t.Errorf("the repeat ended %s, want the time of the first look, %s", at, now)
	}
	claim.Annotations[AnnotationLaunch] = own.String()
	m.records["a"] = repeat
	if r, _ := m.record(claim); !r.Time.Equal(repeat.Time) {
		t.Error("an annotation that was read earlier replaces the cached record")
	}
}
