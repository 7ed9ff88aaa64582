package aws_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// The status of a deleted claim lacks its instance, because the process that launched it was killed. The instance was stopped. It
// is found by its launch, and terminated before the claim goes.
func TestStoppedInstanceOfADeletedClaim(t *testing.T) {
	w := newWorld(t)
	w.store(t, w.claim("one"))
	claim := w.load(t, "one")
	claim.Spec.Requirements[3].Values = []string{"on-demand"}
	if err := w.kube.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	i, err := w.start(t).Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	p := w.startWith(t, func(c *aws.Config) { c.Clock = lateClock{} })
	id := i.ProviderID[strings.LastIndex(i.ProviderID, "/")+1:]
	if _, err := w.emulator.Stop(id); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), w.load(t, "one")); err != nil {
		t.Fatal(err)
	}
	if got, _ := w.emulator.Instance(id); got.State(time.Now()).Name != "terminated" {
		t.Errorf("the instance is %s", got.State(time.Now()).Name)
	}
	if err := p.Delete(t.Context(), w.load(t, "one")); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

// An instance whose tags EC2 does not return yet is not taken for one of another cluster, and not for gone.
func TestInstanceWithoutTagsYet(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	w.store(t, w.claim("one"))
	i, err := p.Create(t.Context(), w.load(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	w.launched(t, "one", i)
	w.order(t, w.control.SetLag(t.Context(), control.Lag{Tags: control.Duration(time.Hour)}))
	err = p.Delete(t.Context(), w.load(t, "one"))
	if err == nil || errors.Is(err, cloud.ErrNotFound) || strings.Contains(err.Error(), "left alone") {
		t.Errorf("before EC2 returns the tags: %v", err)
	}
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if err := p.Delete(t.Context(), w.load(t, "one")); err != nil {
		t.Errorf("after EC2 has returned the tags: %v", err)
	}
	w.wantAlive(t, 0)
}
