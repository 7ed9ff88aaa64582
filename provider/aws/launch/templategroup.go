package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/bootstrap"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
)

// A templateGroup has the types of a choice that share a launch template, since they have equal values in it.
type templateGroup struct {
	members []int // indexes into the choice's types

	image   awsv1.AMI
	maxPods int64
	efas    int64
	kubelet kubelet.Config
	// reservation is the capacity reservation in which the types are launched, zero for none.
	reservation instances.Reservation

	template     Template
	userDataSize int // bytes before encoding
}

// config returns the part of the input of CreateFleet for the group.
func (g templateGroup) config(overrides []ec2types.FleetLaunchTemplateOverridesRequest) ec2types.FleetLaunchTemplateConfigRequest {
	return ec2types.FleetLaunchTemplateConfigRequest{
		LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
			LaunchTemplateName: aws.String(g.template.Name), Version: aws.String("$Latest"),
		},
		Overrides: overrides,
	}
}

func templatesOf(groups []templateGroup) []Template {
	out := make([]Template, len(groups))
	for n, g := range groups {
		out[n] = g.template
	}
	return out
}

// templateGroups divides the types of the choice into groups and returns these with their launch templates, which need not
// exist yet. There are at most maxConfigs groups, cheapest first. It returns an error if no type has an image.
func (l *Launcher) templateGroups(ctx context.Context, r Request, c Choice, cluster bootstrap.Cluster) ([]templateGroup, error) {
	shape := catalog.ShapeOf(r.Class, l.Region, catalog.Options{})
	groups := l.groupTypes(ctx, r, c, shape.Kubelet)
	if len(groups) == 0 {
		return nil, shortage("no AMI is compatible with any of %d instance types", len(c.Types))
	}
	for n := range groups {
		if err := l.setTemplate(&groups[n], r, c, shape, cluster); err != nil {
			return nil, err
		}
		l.userData.WithLabelValues(r.Class.Name).Set(float64(groups[n].userDataSize))
		l.logLargeUserData(ctx, r.Class.Name, groups[n].userDataSize)
	}
	return groups[:min(len(groups), maxConfigs)], nil
}

// groupTypes divides the types of the choice by the values in their launch templates: image, maxPods, kubeReserved and
// systemReserved, EFA interfaces, reservation. A type is in one group for each of its reservations. Types without an image are
// omitted. The groups are in the order of their first types, and have no templates yet. defaults are the kubelet settings of the
// class. If they have expressions, these are evaluated for each type.
func (l *Launcher) groupTypes(ctx context.Context, r Request, c Choice, defaults kubelet.Config) []templateGroup {
	var groups []templateGroup
	byKey := map[string]int{} // indexes into groups
	for n, t := range c.Types {
		image, ok := amis.For(r.Class, amis.Labels{Set: t.Requirements})
		if !ok {
			continue
		}
		efas := r.efas(t)
		settings := defaults
		if len(settings.Expressions) > 0 {
			var err error
			if settings, err = l.Kubelets.Kubelet(r.Class, t.Name); err != nil {
				log.FromContext(ctx).V(1).Info("keeping default kubelet settings", "type", t.Name, "error", err.Error())
			}
		}
		for _, reservation := range reservationsOf(c.Offers[n]) {
			key := fmt.Sprint(image.ID, " ", t.Capacity[corev1.ResourcePods], " ", efas, " ", reservation.ID, " ",
				settings.KubeReserved, settings.SystemReserved)
			at, ok := byKey[key]
			if !ok {
				at = len(groups)
				byKey[key] = at
				groups = append(groups, templateGroup{
					image: image, maxPods: t.Capacity[corev1.ResourcePods], efas: efas, kubelet: settings, reservation: reservation,
				})
			}
			groups[at].members = append(groups[at].members, n)
		}
	}
	return groups
}

// efas returns the number of EFA interfaces with which an instance of type t is launched. It is the number that the
// class defines. If the class defines none, it is the number of the type, provided that the claim requests EFA.
func (r Request) efas(t *model.InstanceType) int64 {
	wanted := r.Claim.Spec.Resources.Requests[awsv1.ResourceEFA]
	if wanted.IsZero() && len(r.Class.Spec.NetworkInterfaces) == 0 {
		return 0
	}
	return t.Capacity[awsv1.ResourceEFA]
}

// setTemplate sets the launch template of the group, and the size of the user data in it.
func (l *Launcher) setTemplate(g *templateGroup, r Request, c Choice, shape catalog.Shape, cluster bootstrap.Cluster) error {
	text, err := bootstrap.UserData(bootstrap.Input{
		Family: shape.Family.Name, Cluster: cluster, Kubelet: g.kubelet,
		MaxPods: g.maxPods, RAID0: shape.RAID0,
		Labels: bootstrap.ClaimLabels(r.Claim, c.CapacityType, shape.Family.Name),
		Taints: bootstrap.ClaimTaints(r.Claim), Custom: ptr.Deref(r.Class.Spec.UserData, ""),
		ImageVersion: imageVersion(r.Class, g.image),
	})
	if errors.Is(err, bootstrap.ErrNoCIDR) { // EKS may answer the next call, so the claim is kept
		return &cloud.LaunchError{
			Reason: awsv1.ReasonClusterCIDRResolutionFailed, Message: "Service CIDR of the cluster could not be read from EKS: " + fault.Brief(err), Err: err,
		}
	}
	if err != nil {
		return &cloud.NodeClassNotReadyError{Err: err}
	}
	g.userDataSize = len(text)
	g.template, err = templateSpec{
		class: r.Class, imageID: g.image.ID, userData: text, tags: r.Tags, capacityType: c.CapacityType,
		tenancy: c.Tenancy, efas: int(g.efas), ipv6: cluster.IPv6(), region: l.Region,
		reservations: l.Reservations, reservation: g.reservation, placementGroup: r.PlacementGroup, partition: c.Partition,
	}.template()
	return err
}

// imageVersion returns the version of the image: the version of the class's alias, or a part of the image's name such
// as v1.46.0. It returns "" if there is neither.
func imageVersion(class *awsv1.EC2NodeClass, image awsv1.AMI) string {
	if _, v, ok := catalog.Alias(class); ok {
		return v
	}
	for _, word := range strings.Split(image.Name, "-") {
		if strings.HasPrefix(word, "v") && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}
