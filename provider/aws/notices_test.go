package aws_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/controller/interruption"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// A notified is the controller that acts on one source of notices. Its errors are returned instead of logged.
type notified struct{ *interruption.Controller }

func (n notified) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	next, err := n.Handle(ctx)
	return ctrl.Result{RequeueAfter: next}, err
}

// controllersOf returns the provider's controllers, and those that act on its notices.
func controllersOf(t testing.TB, p *aws.Provider, kube client.Client, c clock.PassiveClock) []aws.Controller {
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), nil)
	replacements := interruption.NewReplacements(kube, metrics.Interruption.ToLaunchSeconds)
	all := p.Controllers()
	for _, source := range p.NoticeSources() {
		all = append(all, notified{&interruption.Controller{
			Source: source, Cloud: p, Client: kube, Clock: c, Events: published{t}, Metrics: metrics, Replacements: replacements,
		}})
	}
	return all
}

// published writes events to the log of the test.
type published struct{ t testing.TB }

func (p published) Publish(events ...telemetry.Event) {
	for _, e := range events {
		p.t.Logf("event on %s: %s %s %s", e.Object.(client.Object).GetName(), e.Type, e.Reason, e.Message)
	}
}
