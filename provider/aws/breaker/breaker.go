// Package breaker bounds how many instances are terminated at once when a list or a report of EC2 is the only reason.
//
// Such a reason may be wrong for many instances at once. Examples are NodeClaims that were lost in a restore, and a
// zone that EC2 reports as impaired. So a pass that would terminate more instances than Limit terminates none of them.
// A metric and an event on each EC2NodeClass report that. The annotation awsv1.AnnotationAllowMassTermination on an
// EC2NodeClass removes the bound for its instances.
package breaker

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// A Cause is the reason for terminating instances.
type Cause string

const (
	// CauseNoClaim means that the instances belong to no NodeClaim.
	CauseNoClaim Cause = "instances without NodeClaim"
	// CauseStatus means that EC2 reports failed status checks or scheduled events for the instances.
	CauseStatus Cause = "instances with failed status checks or scheduled events"
)

// label returns the cause as a value of a metric label.
func (c Cause) label() string {
	if c == CauseNoClaim {
		return "without_nodeclaim"
	}
	return "instance_status"
}

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// A Breaker decides which of many terminations are allowed.
type Breaker struct {
	client   client.Reader
	recorder Recorder
	withheld *prometheus.GaugeVec
}

// New returns a Breaker that reads node classes from c. It registers its metric with reg.
func New(c client.Reader, r Recorder, reg prometheus.Registerer) *Breaker {
	b := &Breaker{client: c, recorder: r, withheld: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "karpenter_cloudprovider_terminations_withheld",
		Help: "Instances that the last pass did not terminate because they were too many (without_nodeclaim, " +
			"instance_status), or because their node is in use (node_in_use).",
	}, []string{"cause"})}
	reg.MustRegister(b.withheld)
	return b
}

// Limit is how many of the managed instances one pass may terminate: 20%, but at least 3.
func Limit(managed int) int { return max(3, managed/5) }

// Admit returns the instances of chosen that may be terminated in this pass, in their order. Instances whose class has
// no bound may always be terminated. Of the other instances, either all or none are returned. managed is the number of
// instances of the cluster that are not being terminated.
func (b *Breaker) Admit(
	ctx context.Context, cause Cause, chosen []instances.Instance, managed int,
) ([]instances.Instance, error) {
	bounded, err := b.bounded(ctx, chosen)
	if err != nil {
		return nil, err
	}
	count, limit := 0, Limit(managed)
	for _, list := range bounded {
		count += len(list.instances)
	}
	if count <= limit {
		b.withheld.WithLabelValues(cause.label()).Set(0)
		return chosen, nil
	}
	b.withheld.WithLabelValues(cause.label()).Set(float64(count))
	message := fmt.Sprintf("%d of %d instances were not terminated: at most %d %s are terminated at once; fix: check the cause; "+
		"to terminate them, set annotation %s=true on their EC2NodeClass", count, managed, limit, cause,
		awsv1.AnnotationAllowMassTermination)
	log.FromContext(ctx).Info("terminations withheld, too many at once", "cause", cause.label(), "count", count, "limit", limit)
	for _, c := range bounded {
		if c.class != nil {
			b.recorder.Event(c.class, corev1.EventTypeWarning, telemetry.EventTerminationWithheld, message)
		}
	}
	return slices.DeleteFunc(slices.Clone(chosen), func(i instances.Instance) bool {
		_, is := bounded[i.Tags[awsv1.TagNodeClass]]
		return is
	}), nil
}

// InUse sets the metric of how many instances are kept because their node is in use.
func (b *Breaker) InUse(count int) { b.withheld.WithLabelValues("node_in_use").Set(float64(count)) }

// ofClass has the instances of one node class. class is nil if it does not exist.
type ofClass struct {
	class     *awsv1.EC2NodeClass
	instances []instances.Instance
}

// bounded returns the instances by class name, without those of classes with AnnotationAllowMassTermination.
func (b *Breaker) bounded(ctx context.Context, list []instances.Instance) (map[string]*ofClass, error) {
	out := map[string]*ofClass{}
	if len(list) == 0 {
		return out, nil
	}
	var classes awsv1.EC2NodeClassList
	if err := b.client.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("list node classes: %w", err)
	}
	for _, i := range list {
		name := i.Tags[awsv1.TagNodeClass]
		at := slices.IndexFunc(classes.Items, func(c awsv1.EC2NodeClass) bool { return c.Name == name })
		if at >= 0 && classes.Items[at].Annotations[awsv1.AnnotationAllowMassTermination] == "true" {
			continue
		}
		if out[name] == nil {
			out[name] = &ofClass{}
			if at >= 0 {
				out[name].class = &classes.Items[at]
			}
		}
		out[name].instances = append(out[name].instances, i)
	}
	return out, nil
}
