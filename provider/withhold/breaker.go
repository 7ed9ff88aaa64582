package withhold

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Cause is the reason for terminating instances. Its text is used in events.
type Cause string

const (
	// CauseNoClaim means that the instances belong to no NodeClaim.
	CauseNoClaim Cause = "instances without NodeClaim"
	// CauseStatus means that the cloud reports the instances as unhealthy, or maintenance of them.
	CauseStatus Cause = "instances with failed status checks or scheduled events"
)

// label returns the cause as a value of a metric label.
func (c Cause) label() string {
	if c == CauseNoClaim {
		return "without_nodeclaim"
	}
	return "instance_status"
}

// A Config has the dependencies and settings of a Breaker.
type Config struct {
	// Provider is the name of the provider, a value of a metric label. Kind is the kind of its node classes, for events.
	Provider, Kind string
	// Classes returns the node classes of the provider.
	Classes func(context.Context) ([]client.Object, error)
	// Warn publishes a warning event with the reason TerminationWithheld.
	Warn func(about client.Object, message string)
	// Metrics registers the metric, which all breakers of a process share. Nil means no registration.
	Metrics prometheus.Registerer
}

// A Breaker decides for one provider which of many terminations are allowed.
type Breaker struct {
	config   Config
	withheld *prometheus.GaugeVec
}

// New returns a Breaker.
func New(c Config) *Breaker {
	withheld := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "karpenter_cloudprovider_terminations_withheld",
		Help: "Instances that the last pass did not terminate because they were too many (without_nodeclaim, " +
			"instance_status), or because their node is in use (node_in_use).",
	}, []string{"provider", "cause"})
	if c.Metrics != nil {
		var earlier prometheus.AlreadyRegisteredError
		switch err := c.Metrics.Register(withheld); {
		case errors.As(err, &earlier):
			withheld = earlier.ExistingCollector.(*prometheus.GaugeVec) // of another provider of this process
		case err != nil:
			panic(fmt.Sprintf("register metric of withheld terminations: %v", err)) // its name is declared here alone
		}
	}
	return &Breaker{config: c, withheld: withheld}
}

// Limit is how many of the managed instances one pass may terminate: 20%, but at least 3.
func Limit(managed int) int { return max(3, managed/5) }

// Admit decides which instances may be terminated in one pass. classes has the name of the node class of each
// instance to terminate, empty if it is not known. managed is the number of instances of the provider in this cluster
// that are not being terminated.
//
// allowed reports whether instances of a class may be terminated. Classes with the annotation
// AllowMassTerminationAnnotationKey have no limit. The instances of all other classes are counted together. If there
// are more of them than Limit, none of them may be terminated, and Admit publishes warnings on their classes.
func (b *Breaker) Admit(ctx context.Context, cause Cause, classes []string, managed int) (allowed func(class string) bool, err error) {
	lifted, concerned, err := b.known(ctx, classes)
	if err != nil {
		return nil, err
	}
	count, limit := 0, Limit(managed)
	for _, name := range classes {
		if !lifted[name] {
			count++
		}
	}
	gauge := b.withheld.WithLabelValues(b.config.Provider, cause.label())
	if count <= limit {
		gauge.Set(0)
		return func(string) bool { return true }, nil
	}
	gauge.Set(float64(count))
	log.FromContext(ctx).Info("terminations withheld, too many at once", "cause", cause.label(), "count", count, "limit", limit)
	message := fmt.Sprintf("%d of %d instances were not terminated: at most %d %s are terminated at once; fix: check the cause; "+
		"to terminate them, set annotation %s=true on their %s", count, managed, limit, cause, apiv1.AllowMassTerminationAnnotationKey,
		b.config.Kind)
	for _, class := range concerned {
		if !lifted[class.GetName()] {
			b.config.Warn(class, message)
		}
	}
	return func(class string) bool { return lifted[class] }, nil
}

// known returns two results. lifted[name] is true if the number of terminations of instances of that class has no limit.
// concerned are those of the named classes that exist. An empty name stands for an instance whose class is not known. Then
// concerned has all classes, and lifted[""] is true if all classes have no limit.
func (b *Breaker) known(ctx context.Context, names []string) (lifted map[string]bool, concerned []client.Object, err error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	named := map[string]bool{}
	for _, name := range names {
		named[name] = true
	}
	all, err := b.config.Classes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list node classes: %w", err)
	}
	lifted = map[string]bool{"": len(all) > 0}
	for _, class := range all {
		is := class.GetAnnotations()[apiv1.AllowMassTerminationAnnotationKey] == "true"
		lifted[class.GetName()], lifted[""] = is, lifted[""] && is
		if named[class.GetName()] || named[""] {
			concerned = append(concerned, class)
		}
	}
	return lifted, concerned, nil
}

// KeptInUse sets the metric of how many instances are kept because their node is in use.
func (b *Breaker) KeptInUse(count int) {
	b.withheld.WithLabelValues(b.config.Provider, "node_in_use").Set(float64(count))
}
