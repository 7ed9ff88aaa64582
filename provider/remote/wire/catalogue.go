package wire

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// operators are the operators of requirements.
var operators = []require.Operator{
	require.In, require.NotIn, require.Exists, require.DoesNotExist, require.Gt, require.Lt, require.Gte, require.Lte,
}

// readRequirements reads requirements on labels. Labels of Karpenter itself are rejected, except for the capacity type.
func readRequirements(list []*cloudv1.Requirement) (require.Set, error) {
	if err := atMost("requirements", len(list), maxRequirements); err != nil {
		return require.Set{}, err
	}
	all := make([]require.Requirement, 0, len(list))
	for _, r := range list {
		key, op := r.GetKey(), require.Operator(r.GetOperator())
		if err := checkLabelKey(key); err != nil {
			return require.Set{}, err
		}
		if isOfKarpenter(key) && !apiv1.CoreLabels().WellKnown.Has(key) || key == apiv1.NodePoolLabelKey {
			return require.Set{}, Reject(InvalidName, "label %s belongs to Karpenter", key)
		}
		if !slices.Contains(operators, op) {
			return require.Set{}, Reject(InvalidName, "operator %s of label %s is unknown", quoted(string(op)), key)
		}
		if err := atMost("values of label "+key, len(r.GetValues()), maxValues); err != nil {
			return require.Set{}, err
		}
		for _, v := range r.GetValues() {
			if err := checkLabelValue(key, v); err != nil {
				return require.Set{}, err
			}
		}
		all = append(all, require.New(key, op, r.GetValues()...))
	}
	return require.NewSet(all...), nil
}

// writeRequirements is the inverse of readRequirements.
func writeRequirements(s require.Set) []*cloudv1.Requirement {
	var out []*cloudv1.Requirement
	for _, r := range s.Spec() {
		out = append(out, &cloudv1.Requirement{Key: r.Key, Operator: string(r.Operator), Values: r.Values})
	}
	return out
}

// ReadType reads an instance type. A known label that the message does not mention gets the
// requirement DoesNotExist, except for that of the NodePool.
func ReadType(m *cloudv1.InstanceType, known sets.Set[string]) (*cloud.InstanceType, error) {
	name := m.GetName()
	if name == "" || len(validation.IsValidLabelValue(name)) > 0 {
		return nil, Reject(InvalidName, "%s is no name of an instance type", quoted(name))
	}
	t := &cloud.InstanceType{Name: name}
	reqs, err := readRequirements(m.GetRequirements())
	if err == nil {
		err = readResources(t, m)
	}
	if err == nil {
		err = readOfferings(t, m)
	}
	if err == nil {
		err = readAttach(t, m)
	}
	if err == nil {
		err = CheckTemplates(m.GetDeviceTemplates())
	}
	if err == nil {
		t.Requirements, err = complete(t, reqs, known)
	}
	if err != nil {
		return nil, within(err, "instance type %s", name)
	}
	for _, o := range t.Offerings {
		if _, ok := t.Requirements.Intersects(o.Requirements); !ok {
			return nil, Reject(Contradiction, "instance type %s: the labels of the offering in zone %s contradict those of the type", name, o.Zone)
		}
	}
	return t, nil
}

// complete adds the name of the type to the requirements, and the zones and capacity types of its
// offerings unless reqs has them. Known labels that reqs does not mention get DoesNotExist, except
// for that of the NodePool. It returns a Rejection if reqs has another name, no architecture or no
// operating system.
func complete(t *cloud.InstanceType, reqs require.Set, known sets.Set[string]) (require.Set, error) {
	zones, capacityTypes := sets.New[string](), sets.New[string]()
	for _, o := range t.Offerings {
		zones.Insert(o.Zone)
		capacityTypes.Insert(o.CapacityType)
	}
	reqs = reqs.With(require.New(corev1.LabelInstanceTypeStable, require.In, t.Name))
	if r, _ := reqs.Get(corev1.LabelInstanceTypeStable); !r.Has(t.Name) {
		return reqs, Reject(Contradiction, "its label %s has another name", corev1.LabelInstanceTypeStable)
	}
	for key, values := range map[string]sets.Set[string]{corev1.LabelTopologyZone: zones, apiv1.CapacityTypeLabelKey: capacityTypes} {
		if !reqs.Has(key) {
			reqs = reqs.With(require.New(key, require.In, sets.List(values)...))
		}
	}
	for _, key := range []string{corev1.LabelArchStable, corev1.LabelOSStable} {
		if !reqs.Has(key) {
			return reqs, Reject(Missing, "the label %s is missing", key)
		}
	}
	for key := range known {
		if !reqs.Has(key) && key != apiv1.NodePoolLabelKey {
			reqs = reqs.With(require.New(key, require.DoesNotExist))
		}
	}
	return reqs, nil
}

// readResources reads the capacity and the allocatable resources of a type. A resource without an allocatable amount
// is allocatable in full.
func readResources(t *cloud.InstanceType, m *cloudv1.InstanceType) error {
	capacity, err := readQuantities(m.GetCapacity())
	if err != nil {
		return within(err, "capacity")
	}
	allocatable, err := readQuantities(m.GetAllocatable())
	if err != nil {
		return within(err, "allocatable")
	}
	t.Capacity, t.Allocatable = model.CapacityOf(capacity), model.CapacityOf(capacity)
	for name, v := range model.CapacityOf(allocatable) {
		if v > t.Capacity[name] {
			return Reject(InvalidAmount, "allocatable %s is larger than the capacity", name)
		}
		t.Allocatable[name] = v
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if t.Capacity[name] <= 0 {
			return Reject(Missing, "the capacity has no %s", name)
		}
	}
	return nil
}

// readOfferings reads the offerings of a type.
func readOfferings(t *cloud.InstanceType, m *cloudv1.InstanceType) error {
	if len(m.GetOfferings()) == 0 {
		return Reject(Missing, "there is no offering")
	}
	if err := atMost("offerings", len(m.GetOfferings()), maxOfferingsOfType); err != nil {
		return err
	}
	seen := sets.New[cloudKey]()
	for _, o := range m.GetOfferings() {
		offering, err := readOffering(o)
		if err != nil {
			return within(err, "offering in zone %s", quoted(o.GetZone()))
		}
		key := cloudKey{zone: offering.Zone, capacityType: offering.CapacityType, reservation: offering.ReservationID}
		if seen.Has(key) {
			return Reject(Contradiction, "two offerings are %s in zone %s", offering.CapacityType, offering.Zone)
		}
		seen.Insert(key)
		t.Offerings = append(t.Offerings, offering)
	}
	return nil
}

// A cloudKey identifies an offering of a type.
type cloudKey struct{ zone, capacityType, reservation string }

func readOffering(o *cloudv1.Offering) (cloud.Offering, error) {
	var out cloud.Offering
	if o.GetZone() == "" {
		return out, Reject(Missing, "the zone is missing")
	}
	if err := checkLabelValue(corev1.LabelTopologyZone, o.GetZone()); err != nil {
		return out, err
	}
	if !slices.Contains(apiv1.CoreLabels().KnownValues[apiv1.CapacityTypeLabelKey], o.GetCapacityType()) {
		return out, Reject(InvalidName, "capacity type %s is not on-demand, spot or reserved", quoted(o.GetCapacityType()))
	}
	if (o.GetCapacityType() == apiv1.CapacityTypeReserved) != (o.GetReservationId() != "") {
		return out, Reject(Contradiction, "an offering has a reservation if, and only if, its capacity type is reserved")
	}
	if len(o.GetReservationId()) > maxText {
		return out, Reject(InvalidName, "the reservation has a name of %d characters", len(o.GetReservationId()))
	}
	extra, err := readRequirements(o.GetRequirements())
	if err != nil {
		return out, err
	}
	own := require.FromLabels(map[string]string{
		corev1.LabelTopologyZone: o.GetZone(), apiv1.CapacityTypeLabelKey: o.GetCapacityType(),
	})
	if _, ok := own.Intersects(extra); !ok {
		return out, Reject(Contradiction, "its labels contradict its zone and capacity type")
	}
	out = cloud.Offering{
		Zone: o.GetZone(), CapacityType: o.GetCapacityType(), Requirements: own.And(extra), ReservationID: o.GetReservationId(),
	}
	return out, readTerms(&out, o)
}

// Terms are the values of an offering that may change.
type Terms interface {
	GetPrice() float64
	GetAvailable() bool
	GetUnpriced() bool
	GetReservationCapacity() uint32
}

// readTerms reads price and availability.
func readTerms(out *cloud.Offering, o Terms) error {
	if err := checkPrice(o.GetPrice()); err != nil {
		return err
	}
	if o.GetReservationCapacity() > MaxInstances {
		return Reject(InvalidAmount, "%d instances are left in a reservation", o.GetReservationCapacity())
	}
	if o.GetUnpriced() && o.GetAvailable() {
		return Reject(Contradiction, "an offering without a price is available")
	}
	out.Price, out.Available, out.Unpriced = o.GetPrice(), o.GetAvailable(), o.GetUnpriced()
	out.ReservationCapacity = int(o.GetReservationCapacity())
	switch o := o.(type) {
	case *cloudv1.Offering:
		out.Since = timeOf(o.GetPriceSince())
	case *cloudv1.OfferingUpdate:
		out.Since = timeOf(o.GetPriceSince())
	}
	return nil
}

// Update returns the type with the changed offering. The given type is not changed. Update returns a Rejection if the
// type does not have the offering or the new values are invalid.
func Update(t *cloud.InstanceType, u *cloudv1.OfferingUpdate) (*cloud.InstanceType, error) {
	at := slices.IndexFunc(t.Offerings, func(o cloud.Offering) bool { return Matches(u.GetOffering(), t.Name, o) })
	if at < 0 {
		return nil, Reject(Missing, "an update is for an offering that instance type %s does not have", t.Name)
	}
	changed := *t
	changed.Offerings = slices.Clone(t.Offerings)
	if err := readTerms(&changed.Offerings[at], u); err != nil {
		return nil, within(err, "instance type %s", t.Name)
	}
	return &changed, nil
}

// Matches reports whether the key identifies the offering.
func Matches(k *cloudv1.OfferingKey, instanceType string, o cloud.Offering) bool {
	return k.GetInstanceType() == instanceType && k.GetZone() == o.Zone && k.GetCapacityType() == o.CapacityType &&
		k.GetReservationId() == o.ReservationID
}

// KeyOf returns the key of an offering.
func KeyOf(instanceType string, o cloud.Offering) *cloudv1.OfferingKey {
	return &cloudv1.OfferingKey{
		InstanceType: instanceType, Zone: o.Zone, CapacityType: o.CapacityType, ReservationId: o.ReservationID,
	}
}

func readAttach(t *cloud.InstanceType, m *cloudv1.InstanceType) error {
	if err := atMost("attach limits", len(m.GetAttachLimits()), maxAttachLimits); err != nil {
		return err
	}
	for driver, n := range m.GetAttachLimits() {
		if len(validation.IsDNS1123Subdomain(driver)) > 0 {
			return Reject(InvalidName, "%s is no name of a CSI driver", quoted(driver))
		}
		if n < 0 {
			return Reject(InvalidAmount, "the attach limit of %s is %d", driver, n)
		}
		if t.Attach == nil {
			t.Attach = map[string]int{}
		}
		t.Attach[driver] = int(n)
	}
	return nil
}

// CheckTemplates checks device templates.
func CheckTemplates(list []*cloudv1.DeviceTemplate) error {
	if err := atMost("device templates", len(list), maxTemplates); err != nil {
		return err
	}
	for _, d := range list {
		if len(validation.IsDNS1123Subdomain(d.GetDriver())) > 0 {
			return Reject(InvalidName, "%s is no name of a driver of devices", quoted(d.GetDriver()))
		}
		if err := atMost("devices of "+d.GetDriver(), len(d.GetDevices()), maxDevices); err != nil {
			return err
		}
		for _, device := range d.GetDevices() {
			if err := checkDevice(device); err != nil {
				return within(err, "driver %s", d.GetDriver())
			}
		}
	}
	return nil
}

func checkDevice(d *cloudv1.Device) error {
	if len(validation.IsDNS1123Label(d.GetName())) > 0 {
		return Reject(InvalidName, "%s is no name of a device", quoted(d.GetName()))
	}
	if err := atMost("fields of device "+d.GetName(), len(d.GetAttributes())+len(d.GetCapacity()), maxDeviceFields); err != nil {
		return err
	}
	for key, value := range d.GetAttributes() {
		if len(validation.IsQualifiedName(key)) > 0 || len(value) > validation.LabelValueMaxLength {
			return Reject(InvalidName, "attribute %s of device %s has an invalid name or a long value", quoted(key), d.GetName())
		}
	}
	for key, value := range d.GetCapacity() {
		if len(validation.IsQualifiedName(key)) > 0 {
			return Reject(InvalidName, "%s is no name of a capacity of device %s", quoted(key), d.GetName())
		}
		if _, err := readQuantity(value); err != nil {
			return within(err, "device %s", d.GetName())
		}
	}
	return nil
}

// WriteType is the inverse of ReadType.
func WriteType(t *cloud.InstanceType) *cloudv1.InstanceType {
	m := &cloudv1.InstanceType{
		Name: t.Name, Requirements: writeRequirements(t.Requirements), Capacity: writeQuantities(t.Capacity.List()),
		Allocatable: writeQuantities(t.Allocatable.List()),
	}
	for driver, n := range t.Attach {
		if m.AttachLimits == nil {
			m.AttachLimits = map[string]int32{}
		}
		m.AttachLimits[driver] = int32(min(max(n, 0), math.MaxInt32))
	}
	for _, o := range t.Offerings {
		m.Offerings = append(m.Offerings, &cloudv1.Offering{
			Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price, Available: o.Available, Unpriced: o.Unpriced,
			Requirements:  writeRequirements(o.Requirements.Without(corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey)),
			ReservationId: o.ReservationID, ReservationCapacity: left(o), PriceSince: stamp(o.Since),
		})
	}
	return m
}

// WriteUpdate returns an update with the terms of an offering.
func WriteUpdate(instanceType string, o cloud.Offering) *cloudv1.OfferingUpdate {
	return &cloudv1.OfferingUpdate{
		Offering: KeyOf(instanceType, o), Price: o.Price, Available: o.Available, Unpriced: o.Unpriced,
		ReservationCapacity: left(o), PriceSince: stamp(o.Since),
	}
}

func left(o cloud.Offering) uint32 { return uint32(min(max(o.ReservationCapacity, 0), MaxInstances)) }

func writeQuantities(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for name, q := range list {
		if q.Format == resource.DecimalExponent {
			q = *resource.NewDecimalQuantity(*q.AsDec(), resource.DecimalSI)
		}
		out[string(name)] = q.String()
	}
	return out
}

// defaultRetry is the time for which an exhausted offering is not used, unless the provider sends another time. maxRetry
// is the longest such time.
const (
	defaultRetry = 3 * time.Minute
	maxRetry     = time.Hour
)
