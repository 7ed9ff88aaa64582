package aws

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	ctrl "sigs.k8s.io/controller-runtime"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/diagnose"
	"github.com/karpenter-go/karpenter/provider/aws/learned"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
	"github.com/karpenter-go/karpenter/provider/aws/upkeep"
)

// A Controller is one reconciler of the provider.
type Controller interface {
	// Name is the name of the controller in logs and metrics.
	Name() string
	Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error)
	// Register adds the controller to mgr.
	Register(mgr ctrl.Manager) error
}

// typesEvery is the interval at which the instance types and their zones are read from EC2. Each reading takes about
// twenty calls.
const typesEvery = time.Hour

// Controllers returns the controllers that the provider needs.
func (p *Provider) Controllers() []Controller {
	c, s := p.config, p.config.Settings
	collector := &upkeep.Collector{
		Instances: p.instances, Launches: p.launcher, Cluster: s.ClusterName, Client: c.Client, Reader: c.Reader,
		Writer: c.Writer, Breaker: p.breaker, Recorder: c.Recorder, Clock: c.Clock,
	}
	out := []Controller{
		&nodeclass.Status{Config: nodeclass.Config{
			Client: c.Client, Reader: c.Reader, Images: p.images, Subnets: p.subnets, Groups: p.groups, Profiles: p.profiles,
			Cluster: p.cluster, Templates: p.templates, Recorder: c.Recorder, Clock: c.Clock,
			Reservations: p.reserved, Placements: p.placed, ReservedCapacity: s.ReservedCapacity,
			Expressions: s.Gates.NodeClassCEL, Evaluate: p.catalog.Evaluate, Check: p.check, Isolated: s.IsolatedVPC,
			Doubted: p.doubted,
			Gone: func(class *awsv1.EC2NodeClass) {
				p.catalog.Forget(class.UID)
				p.launcher.ForgetClass(class.Name)
			},
		}},
		&nodeclass.Stamp{Client: c.Client, Claims: c.Writer},
		&upkeep.Tagger{Client: c.Client, Writer: c.Writer, Instances: p.instances, Cluster: s.ClusterName, Clock: c.Clock},
		collector.Task(),
		upkeep.SweepTemplates(p.templates),
		p.offers.Task(),
		p.prices.Task(c.Clock),
		periodic.Task{Label: "providers.instancetype", Run: func(ctx context.Context) (time.Duration, error) {
			return typesEvery, p.refreshTypes(ctx)
		}},
		p.cluster.task(),
	}
	out = append(out, &diagnose.Doctor{
		Client: c.Client, Claims: c.Writer, Console: p.compute, Instances: p.instances, Recorder: c.Recorder, Clock: c.Clock, Access: p.access(),
	})
	out = append(out, p.paid.Task(), p.learned.Task(), &learned.Learner{Client: c.Client, Store: p.learned})
	if s.ReservedCapacity {
		out = append(out, p.reservations().CapacityTypes())
	}
	if p.shifts != nil {
		out = append(out, p.shifts.Task())
	}
	if !s.IsolatedVPC {
		out = append(out, upkeep.SweepProfiles(c.Reader, p.profiles))
	}
	return out
}

// reservations returns the controller that updates the labels of nodes in capacity reservations.
func (p *Provider) reservations() *upkeep.Reservations {
	c := p.config
	return &upkeep.Reservations{Instances: p.instances, Client: c.Client, Writer: c.Writer, Clock: c.Clock}
}

// access returns the check whether the role of nodes may access the cluster. It is nil in an isolated VPC, where IAM
// cannot be reached.
func (p *Provider) access() *diagnose.Access {
	c := p.config
	if c.Settings.IsolatedVPC {
		return nil
	}
	return &diagnose.Access{
		Cluster: c.Settings.ClusterName, Entries: eks.NewFromConfig(c.AWS), Profiles: iam.NewFromConfig(c.AWS), Reader: c.Reader,
	}
}
