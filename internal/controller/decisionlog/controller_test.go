package decisionlog

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A bench is a world with both controllers.
type bench struct {
	*world.World
	t         *testing.T
	log       *decisions.Log
	effects   *Effects
	publisher *Publisher
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	w := world.New(t, objects...)
	b := &bench{World: w, t: t}
	b.restart(w.Client)
	return b
}

// restart replaces both controllers and the log by new ones. The new publisher writes with c.
func (b *bench) restart(c client.Client) {
	b.log = decisions.New(b.Clock, nil)
	b.effects = &Effects{Client: b.Client, Clock: b.Clock, Cloud: b.Cloud, Log: b.log}
	b.publisher = &Publisher{Client: c, Live: c, Clock: b.Clock, Log: b.log, Namespace: "karpenter"}
}

// see reconciles the effects of the NodeClaim.
func (b *bench) see(name string) {
	b.t.Helper()
	if _, err := b.effects.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
		b.t.Fatal(err)
	}
}

// publish reconciles the publisher and returns the delay until the next reconcile.
func (b *bench) publish() time.Duration {
	b.t.Helper()
	r, err := b.publisher.Reconcile(b.t.Context(), ctrl.Request{})
	if err != nil {
		b.t.Fatal(err)
	}
	return r.RequeueAfter
}

// published returns the episodes in the ConfigMap.
func (b *bench) published() []decisions.Episode {
	b.t.Helper()
	var m corev1.ConfigMap
	err := b.Client.Get(b.t.Context(), client.ObjectKey{Namespace: "karpenter", Name: decisions.MapName}, &m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	episodes, decodeErr := decisions.Decode(m.Data[decisions.MapKey])
	if err != nil || decodeErr != nil {
		b.t.Fatal(err, decodeErr)
	}
	return episodes
}

func (b *bench) want(want string) {
	b.t.Helper()
	got := ""
	for _, e := range b.log.Snapshot() {
		got += fmt.Sprintf("%s %s %s %v\n", e.Kind, e.State, e.Pools, e.Progress)
	}
	if got != want {
		b.t.Errorf("log is\n%swant\n%s", got, want)
	}
}

// launched returns an episode that launches claim a.
func launched() decisions.Episode {
	return decisions.Episode{
		Kind: decisions.KindProvisioning, Action: "launch", Pools: []string{"default"}, Launches: []decisions.Launch{{Claim: "a", Pool: "default"}},
	}
}

// The conditions of a NodeClaim become effects of the decision that launches it.
func TestEffectsOfLaunch(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.log.Begin(launched())
	b.see("a")
	b.want("provisioning open [default] map[]\n")
	claim := b.GetClaim("a")
	for _, c := range []string{apiv1.ConditionTypeLaunched, apiv1.ConditionTypeRegistered, apiv1.ConditionTypeInitialized} {
		condition.SetTrue(claim, c, b.Clock.Now())
	}
	if err := b.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.see("a")
	b.see("a")
	b.want("provisioning done [default] map[initialized:1 launched:1 registered:1]\n")
}

// A NodeClaim that a user deletes gets an episode. A NodeClaim that a decision removes gets no second one.
func TestDeletedByUser(t *testing.T) {
	for _, decided := range []bool{false, true} {
		b := newBench(t)
		claim := world.Joined(b.Cloud, "a")
		b.Add(claim)
		b.see("a")
		b.want("")
		if decided {
			b.log.Begin(decisions.Removed(decisions.KindExpiration, "Expired", "expired", claim))
		}
		if err := b.Client.Delete(t.Context(), b.GetClaim("a")); err != nil {
			t.Fatal(err)
		}
		b.see("a")
		b.see("a")
		claim = b.GetClaim("a")
		claim.Finalizers = nil
		if err := b.Client.Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		b.see("a")
		kind := decisions.KindDeletion
		if decided {
			kind = decisions.KindExpiration
		}
		b.want(string(kind) + " done [default] map[terminated:1 terminating:1]\n")
	}
}

// A large log is written less often than a small one: at most writeRate bytes per second. Nothing is lost in between.
func TestLargeLogIsWrittenLessOften(t *testing.T) {
	b := newBench(t)
	for range 120 { // of a little more than 1 KiB each
		large := launched()
		large.Cause = strings.Repeat("x", 1000)
		b.log.Begin(large)
	}
	b.publish()
	before := len(b.published())
	b.log.Begin(launched())
	b.Clock.Step(writeEvery)
	wait := b.publish()
	if n := len(b.published()); before != 120 || n != before || wait < 5*time.Second || wait > 8*time.Second {
		t.Fatalf("%d episodes, %d after %v, next write in another %v; want 120, 120, and 5 to 8 seconds", before, n, writeEvery, wait)
	}
	b.Clock.Step(wait)
	b.publish()
	if n := len(b.published()); n != before+1 {
		t.Errorf("%d episodes after the second write, want %d", n, before+1)
	}
	if got := writeInterval(decisions.MaxStored); got != 16*time.Second {
		t.Errorf("a full log is written once in %v, want 16s", got)
	}
}

// The log is written only after changes, and at most once per writeEvery. It survives a restart.
func TestPublish(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	if again := b.publish(); again != sweepEvery || b.published() != nil {
		t.Errorf("an empty log is written; next in %s", again)
	}
	b.Clock.Step(writeEvery)
	b.log.Begin(launched())
	if b.publish(); len(b.published()) != 1 {
		t.Errorf("%d episodes published, want 1", len(b.published()))
	}
	b.log.Begin(decisions.Episode{Kind: decisions.KindProvisioning, Action: "refuse"})
	if again := b.publish(); again != writeEvery || len(b.published()) != 1 {
		t.Errorf("written again at once; next in %s", again)
	}
	b.Clock.Step(writeEvery)
	if b.publish(); len(b.published()) != 2 {
		t.Errorf("%d episodes published, want 2", len(b.published()))
	}

	// The claim is deleted while no process runs. The next process detects the deletion without an event.
	if err := b.Client.Delete(t.Context(), b.GetClaim("a")); err != nil {
		t.Fatal(err)
	}
	b.restart(b.Client)
	b.publish()
	b.want("provisioning open [default] map[]\nprovisioning done [] map[]\n")
	b.Clock.Step(sweepEvery)
	b.publish()
	b.want("provisioning failed [default] map[failed:1 terminated:1]\nprovisioning done [] map[]\n")
}

// A disruption whose marks were removed without an event is cancelled after the time forgotten.
func TestForgottenDisruption(t *testing.T) {
	b := newBench(t)
	claim := world.Joined(b.Cloud, "a")
	b.Add(claim)
	b.log.Begin(decisions.Removed(decisions.KindDisruption, "Drifted", "drifted", claim))
	b.publish()
	b.Clock.Step(forgotten)
	b.publish()
	b.want("disruption open [default] map[]\n")
	b.Clock.Step(sweepEvery)
	b.publish()
	b.want("disruption cancelled [default] map[cancelled:1]\n")
}

// Without the permission to write the ConfigMap, as with the chart of upstream, the log is in memory only.
func TestForbidden(t *testing.T) {
	b := newBench(t)
	tries := 0
	b.restart(interceptor.NewClient(b.Client, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			tries++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, decisions.MapName, nil)
		},
	}))
	for range 3 {
		b.log.Begin(launched())
		b.Clock.Step(writeEvery)
		b.publish()
	}
	if tries != 1 || len(b.log.Snapshot()) != 3 {
		t.Errorf("%d writes tried, %d episodes, want 1 and 3", tries, len(b.log.Snapshot()))
	}
}

// A ConfigMap whose data are no log is replaced.
func TestInvalidStored(t *testing.T) {
	b := newBench(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: decisions.MapName}, Data: map[string]string{decisions.MapKey: "nonsense"},
	})
	b.log.Begin(launched())
	b.publish()
	if got := b.published(); len(got) != 1 || got[0].Kind != decisions.KindProvisioning {
		t.Errorf("published %v", got)
	}
}

func TestRegister(t *testing.T) {
	b := newBench(t)
	mgr := world.Manager(t)
	if err := b.effects.Register(mgr); err != nil {
		t.Error(err)
	}
	if err := b.publisher.Register(mgr); err != nil {
		t.Error(err)
	}
}

// The settings are written once at the start, without any decision, and stay when decisions are written.
func TestSettingsArePublished(t *testing.T) {
	b := newBench(t)
	b.publisher.Settings = `{"enforcement-mode":"DryRun"}`
	settings := func() string {
		var m corev1.ConfigMap
		if err := b.Client.Get(t.Context(), client.ObjectKey{Namespace: "karpenter", Name: decisions.MapName}, &m); err != nil {
			t.Fatal(err)
		}
		return m.Data[decisions.SettingsKey]
	}
	b.publish()
	if got := settings(); got != b.publisher.Settings || len(b.published()) != 0 {
		t.Errorf("settings %q, %d episodes", got, len(b.published()))
	}
	b.Clock.Step(time.Minute)
	b.log.Begin(decisions.Episode{Kind: decisions.KindProvisioning, Action: "refuse"})
	b.publish()
	if got := settings(); got != b.publisher.Settings || len(b.published()) != 1 {
		t.Errorf("with a decision: settings %q, %d episodes", got, len(b.published()))
	}
	// A new leader has other settings.
	b.restart(b.Client)
	b.publisher.Settings = `{"enforcement-mode":"Auto"}`
	b.Clock.Step(time.Minute)
	b.publish()
	if got := settings(); got != b.publisher.Settings || len(b.published()) != 1 {
		t.Errorf("after a restart: settings %q, %d episodes", got, len(b.published()))
	}
}

// Unavailable offerings are written with the log, and when they have changed.
func TestUnavailableOfferings(t *testing.T) {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("default")
	b := newBench(t, pool)
	offering := model.Offering{Zone: "a", CapacityType: "spot", Available: true, Price: 1}
	b.Cloud.Types = []*model.InstanceType{{Name: "m.large", Offerings: []model.Offering{offering}}}
	b.publisher.Cloud = b.Cloud
	text := func() string {
		var m corev1.ConfigMap
		if err := b.Client.Get(t.Context(), client.ObjectKey{Namespace: "karpenter", Name: decisions.MapName}, &m); err != nil {
			t.Fatal(err)
		}
		return m.Data[decisions.UnavailableKey]
	}
	b.log.Begin(launched())
	b.publish()
	if got := text(); got != `{"groups":[]}` {
		t.Errorf("%s, want none", got)
	}
	offering.Available = false
	b.Cloud.Types = []*model.InstanceType{{Name: "m.large", Offerings: []model.Offering{offering}}}
	b.Clock.Step(sweepEvery)
	b.publish()
	if got, want := text(), `{"groups":[{"capacityType":"spot","zone":"a","types":["m.large"]}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
