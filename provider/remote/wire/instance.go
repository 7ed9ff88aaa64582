package wire

import (
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

// isOfKarpenter reports whether a key of a label or an annotation is in the domain of Karpenter itself.
func isOfKarpenter(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == apiv1.Group || domain == apiv1.ExtGroup
}

// ReadInstance reads an instance. Labels of Karpenter itself are omitted, except for well-known ones.
func (i *Info) ReadInstance(m *cloudv1.Instance) (*cloud.Instance, error) {
	out := &cloud.Instance{
		ProviderID: m.GetProviderId(), NodeName: m.GetNodeName(), ImageID: m.GetImageId(), Created: timeOf(m.GetCreated()),
		Ending: m.GetEnding(),
	}
	if err := i.checkProviderID(out.ProviderID); err != nil {
		return nil, err
	}
	if out.NodeName != "" && len(validation.IsDNS1123Subdomain(out.NodeName)) > 0 {
		return nil, Reject(InvalidName, "%s is no name of a node", quoted(out.NodeName))
	}
	if len(out.ImageID) > maxText {
		return nil, Reject(InvalidName, "the image has a name of %d characters", len(out.ImageID))
	}
	var err error
	if out.Labels, err = readLabels(m.GetLabels()); err != nil {
		return nil, within(err, "instance %s", out.ProviderID)
	}
	for key, value := range map[string]string{
		corev1.LabelInstanceTypeStable: m.GetOffering().GetInstanceType(), corev1.LabelTopologyZone: m.GetOffering().GetZone(),
		apiv1.CapacityTypeLabelKey: m.GetOffering().GetCapacityType(),
	} {
		if value == "" {
			continue
		}
		if err := checkLabelValue(key, value); err != nil {
			return nil, within(err, "instance %s", out.ProviderID)
		}
		out.Labels[key] = value
	}
	if out.Annotations, err = i.readAnnotations(m.GetAnnotations()); err != nil {
		return nil, within(err, "instance %s", out.ProviderID)
	}
	if out.Capacity, err = readQuantities(m.GetCapacity()); err != nil {
		return nil, within(err, "instance %s", out.ProviderID)
	}
	if out.Allocatable, err = readQuantities(m.GetAllocatable()); err != nil {
		return nil, within(err, "instance %s", out.ProviderID)
	}
	return out, nil
}

// checkProviderID returns an error if the ID is empty or too long, has characters other than printable ASCII, or does not
// have a prefix of the provider.
func (i *Info) checkProviderID(id string) error {
	switch {
	case id == "":
		return Reject(Missing, "an instance has no provider ID")
	case len(id) > maxProviderID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Reject(InvalidName, "%s is no provider ID", quoted(id))
	case len(i.Prefixes) > 0 && !slices.ContainsFunc(i.Prefixes, func(p string) bool { return strings.HasPrefix(id, p) }):
		return Reject(WrongInstance, "provider ID %s does not begin with %s", quoted(id), strings.Join(i.Prefixes, " or "))
	}
	return nil
}

// readLabels reads labels of an instance. Labels of Karpenter itself are
// omitted, except for well-known ones.
func readLabels(labels map[string]string) (map[string]string, error) {
	if err := atMost("labels", len(labels), maxLabels); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(labels))
	for key, value := range labels {
		if err := checkLabelKey(key); err != nil {
			return nil, err
		}
		if err := checkLabelValue(key, value); err != nil {
			return nil, err
		}
		if !isOfKarpenter(key) || apiv1.CoreLabels().WellKnown.Has(key) {
			out[key] = value
		}
	}
	return out, nil
}

// ReadLabels reads labels that a provider adds to a node at its registration. The labels of the NodePool and the
// capacity type are omitted.
func ReadLabels(labels map[string]string) (map[string]string, error) {
	out, err := readLabels(labels)
	if err == nil {
		delete(out, apiv1.NodePoolLabelKey)
		delete(out, apiv1.CapacityTypeLabelKey)
	}
	return out, err
}

// readAnnotations reads annotations of an instance. Their domain must be that of one of the provider's node classes,
// or a subdomain of it.
func (i *Info) readAnnotations(annotations map[string]string) (map[string]string, error) {
	if err := atMost("annotations", len(annotations), maxAnnotations); err != nil {
		return nil, err
	}
	for key, value := range annotations {
		if err := checkLabelKey(key); err != nil {
			return nil, err
		}
		domain, _, _ := strings.Cut(key, "/")
		own := slices.ContainsFunc(i.Facts.NodeClasses, func(k kind) bool { return domain == k.Group || strings.HasSuffix(domain, "."+k.Group) })
		if !own {
			return nil, Reject(InvalidName, "annotation %s is not in the domain of a node class of the provider", quoted(key))
		}
		if len(value) > maxAnnotationBytes {
			return nil, Reject(TooMany, "annotation %s has %d bytes, at most %d are allowed", key, len(value), maxAnnotationBytes)
		}
	}
	return maps.Clone(annotations), nil
}

// WriteInstance is the inverse of ReadInstance.
func WriteInstance(i *cloud.Instance, token string) *cloudv1.Instance {
	return &cloudv1.Instance{
		ProviderId: i.ProviderID, Token: token, NodeName: i.NodeName, ImageId: i.ImageID, Labels: i.Labels,
		Annotations: i.Annotations, Capacity: writeQuantities(i.Capacity), Allocatable: writeQuantities(i.Allocatable),
		Created: stamp(i.Created), Ending: i.Ending,
		Offering: &cloudv1.OfferingKey{
			InstanceType: i.Labels[corev1.LabelInstanceTypeStable], Zone: i.Labels[corev1.LabelTopologyZone],
			CapacityType: i.Labels[apiv1.CapacityTypeLabelKey],
		},
	}
}

// timeOf returns the time of a message, zero if it has none or an invalid one.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil || t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func durationOf(d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if d.CheckValid() != nil {
		return 0, Reject(InvalidAmount, "a duration is invalid")
	}
	return d.AsDuration(), nil
}
