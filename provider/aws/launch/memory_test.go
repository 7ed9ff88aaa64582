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

// Repeated failed launches leave no entries in the memory, while other claims still exist.
func TestMemoryIsBounded(t *testing.T) {
	c := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	m := newMemory(c)
	m.give("stays", instances.Instance{ID: "i-0"})
	claims := map[types.UID]bool{"stays": true}
	for n := range 1000 {
		m.settle(fmt.Sprint("token-", n))
		uid := types.UID(fmt.Sprint("claim-", n))
		m.give(uid, instances.Instance{ID: fmt.Sprint("i-", n+1)})
		c.Step(time.Minute)
		m.keep(claims)
	}
	kept := 0
	for n := range 1000 {
		if m.isSettled(fmt.Sprint("token-", n)) {
			kept++
		}
	}
	if most := int(settledLife / time.Minute); kept > most {
		t.Errorf("%d outcomes of calls are kept, want at most %d", kept, most)
	}
	if len(m.launched) != 1 || len(m.owner) != 1 {
		t.Errorf("%d instances of %d claims are kept, want those of the one that is left", len(m.owner), len(m.launched))
	}
	if !m.isSettled("token-999") {
		t.Error("the outcome of the last call is forgotten")
	}
}

// A launch that ended with an instance after the caller looked for one is not started again.
func TestDepartAfterLaunch(t *testing.T) {
	m := newMemory(clocktesting.NewFakePassiveClock(time.Time{}))
	m.give("a", instances.Instance{ID: "i-1"})
	i, ticket := m.depart("a", func() *batch.Ticket[instances.Instance] {
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
	m := newMemory(clocktesting.NewFakePassiveClock(now))
	own := newRecord([]types.UID{"a"}, 1, "params", now.Add(-time.Minute))
	m.records["a"] = own
	m.calls.Set(own.Token, now.Add(-50*time.Second))
	repeat := own
	repeat.Time = timeOfRecord(now.Add(-5 * time.Second))
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{UID: "a", Annotations: map[string]string{AnnotationLaunch: repeat.String()}}}
	if r, _ := m.record(claim); !r.Time.Equal(repeat.Time) {
		t.Errorf("the record is of %s, want that of the repeat, %s", r.Time, repeat.Time)
	}
	if at := m.ended(repeat); !at.Equal(now) {
		t.Errorf("the repeat ended %s, want the time of the first look, %s", at, now)
	}
	claim.Annotations[AnnotationLaunch] = own.String()
	m.records["a"] = repeat
	if r, _ := m.record(claim); !r.Time.Equal(repeat.Time) {
		t.Error("an annotation that was read earlier replaces the record in memory")
	}
}
