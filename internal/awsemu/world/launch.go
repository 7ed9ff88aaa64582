package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A Failure is the reason why one of several launches was refused.
type Failure struct{ Code, Message string }

// failf returns a Failure.
func failf(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A launch is a request for instances in one pool. It is complete after check.
type launch struct {
	pool     Pool
	vcpus    int
	image    *Image
	subnet   *Subnet
	groups   []string
	template TemplateRef // with id, name and version number
	data     TemplateData
	tags     map[string]string
	fleetID  string
	fleet    *Fleet // nil for a launch by RunInstances
	token    string
	// reservation is the reservation that the launch names. If open is true, the launch uses any open reservation that matches.
	reservation *Reservation
	open        bool
	group       *PlacementGroup
}

// check completes a launch from the data of its template and an override. It returns the errors of EC2. Errors in the template
// are returned for every override, because EC2 detects them at the launch.
func (w *World) check(l launch, o Override) (launch, *Failure) {
	name := firstSet(o.InstanceType, l.data.InstanceType)
	t, ok := w.cfg.Catalog.Type(name)
	if !ok {
		return l, failf("InvalidParameterValue", "The following supplied instance types do not exist: [%s]", name)
	}
	l.pool.Type, l.vcpus = name, t.VCPU
	var failure *Failure
	if l.subnet, failure = w.pickSubnet(o, l.data); failure != nil {
		return l, failure
	}
	l.pool.Zone = l.subnet.Zone
	if !slices.Contains(w.region.Offers[name].Zones, l.pool.Zone) {
		return l, failf("Unsupported",
			"Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", name, l.pool.Zone)
	}
	if l.pool.Capacity == Spot && w.region.Offers[name].Spot == 0 {
		return l, failf("UnsupportedOperation", "The instance type %s is not supported for Spot.", name)
	}
	imageID := firstSet(o.ImageID, l.data.ImageID)
	if l.image = w.imageByID(imageID); l.image == nil {
		return l, imageFailure(imageID)
	}
	if !slices.Contains(t.Arch, l.image.Arch) {
		return l, failf("InvalidParameterValue",
			"The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
				"Specify an instance type and an AMI that have matching architectures, and try again.", strings.Join(t.Arch, ","), l.image.Arch)
	}
	if l.groups, failure = w.launchGroups(l.data); failure != nil {
		return l, failure
	}
	if l.data.Profile != "" && !w.profileExists(l.data.Profile) {
		return l, failf("InvalidParameterValue",
			"Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", l.data.Profile)
	}
	if len(l.data.NICs) > 1 && slices.ContainsFunc(l.data.NICs, func(n NIC) bool { return n.PublicIP != nil && *n.PublicIP }) {
		return l, failf("InvalidParameterCombination",
			"The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
	}
	if l.data.wantsIPv6() && l.subnet.IPv6CIDR == "" {
		return l, failf("InvalidParameterValue", "The subnet '%s' does not have an IPv6 CIDR block associated with it", l.subnet.ID)
	}
	if failure := w.draw(&l); failure != nil {
		return l, failure
	}
	if failure := w.placeIn(&l); failure != nil {
		return l, failure
	}
	return l, w.checkVolumes(l)
}

// wantsIPv6 reports whether the first interface requests IPv6 addresses.
func (d TemplateData) wantsIPv6() bool {
	if len(d.NICs) == 0 {
		return false
	}
	n := d.NICs[0]
	return n.IPv6Address > 0 || n.IPv6Prefixes > 0 || n.PrimaryIPv6
}

// imageFailure returns the error for an image that does not exist.
func imageFailure(id string) *Failure {
	switch {
	case id == "":
		return failf("MissingParameter", "The request must contain the parameter ImageId")
	case !strings.HasPrefix(id, "ami-"):
		return failf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
	}
	return failf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
}

// pickSubnet returns the subnet of a launch: that of the override, that of the template's first interface, or the private subnet
// in the zone.
func (w *World) pickSubnet(o Override, data TemplateData) (*Subnet, *Failure) {
	id := o.Subnet
	if id == "" && len(data.NICs) > 0 {
		id = data.NICs[0].Subnet
	}
	if id != "" {
		s := w.subnetByID(id)
		switch {
		case s == nil:
			return nil, failf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		case o.Zone != "" && o.Zone != s.Zone:
			return nil, failf("InvalidParameterValue",
				"The subnet '%s' is not in the Availability Zone '%s'", id, o.Zone)
		}
		return s, nil
	}
	if o.Zone != "" {
		if s := w.subnetInZone(o.Zone); s != nil {
			return s, nil
		}
		return nil, failf("InvalidParameterValue", "Invalid availability zone: [%s]", o.Zone)
	}
	return nil, failf("MissingInput", "No subnets found for the default VPC '%s'. Please specify a subnet.", w.vpc)
}

// launchGroups returns the security groups of a launch.
func (w *World) launchGroups(data TemplateData) ([]string, *Failure) {
	groups := data.SecurityGroups
	for _, nic := range data.NICs {
		if len(data.SecurityGroups) > 0 && len(nic.Groups) > 0 {
			return nil, failf("InvalidParameterCombination",
				"Network interfaces and an instance-level security groups may not be specified on the same request")
		}
		groups = append(slices.Clip(groups), nic.Groups...)
	}
	groups = slices.Compact(slices.Sorted(slices.Values(groups)))
	for _, id := range groups {
		if _, ok := w.groupName(id); !ok {
			return nil, failf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	return groups, nil
}

// checkVolumes returns an error for a root volume that is smaller than its snapshot.
func (w *World) checkVolumes(l launch) *Failure {
	for _, b := range l.data.BlockDevices {
		if b.Device == l.image.RootDevice && b.SizeGiB > 0 && b.SizeGiB < l.image.RootGiB {
			return failf("InvalidBlockDeviceMapping",
				"Volume of size %dGB is smaller than snapshot '%s', expect size >= %dGB",
				b.SizeGiB, "snap"+strings.TrimPrefix(l.image.ID, "ami"), l.image.RootGiB)
		}
	}
	return nil
}

// launchAll launches up to n instances of a checked launch. If it launches fewer, it returns the reason.
func (w *World) launchAll(l launch, n int) ([]*Instance, *Failure) {
	reservation := w.newID("r")
	var out []*Instance
	for range n {
		if l.reservation != nil && w.reserveRoom(l.reservation) == 0 {
			return out, failf("ReservationCapacityExceeded",
				"The requested reservation '%s' does not have sufficient compatible and available capacity for this request.", l.reservation.ID)
		}
		if failure := w.placeRoom(l); failure != nil {
			return out, failure
		}
		if room, code := w.room(l.pool); room == 0 {
			return out, &Failure{code, capacityMessage(l.pool, code)}
		}
		if w.quotaRoom(l.pool.Capacity, l.vcpus) == 0 {
			f := w.quotaFailure(l.pool.Capacity)
			return out, &f
		}
		if l.subnet.Free == 0 {
			return out, failf("InsufficientFreeAddressesInSubnet",
				"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", l.subnet.ID)
		}
		out = append(out, w.makeInstance(l, reservation))
	}
	return out, nil
}

// makeInstance launches one instance. The caller has checked that there is room.
func (w *World) makeInstance(l launch, reservation string) *Instance {
	address, _ := l.subnet.take()
	now := w.cfg.Clock.Now()
	w.sequence++
	i := &Instance{
		ID: w.newID("i"), ReservationID: reservation, FleetID: l.fleetID, ClientToken: l.token,
		Type: l.pool.Type, Arch: l.image.Arch, Capacity: l.pool.Capacity,
		Zone: l.pool.Zone, ZoneID: w.zoneID(l.pool.Zone), Subnet: l.subnet.ID,
		Image: *l.image, Address: address, Groups: l.groups,
		Template: l.template, Data: l.data, Tags: maps.Clone(l.tags),
		PricePerHour: w.price(l.pool), Sequence: w.sequence,
		Launched: now, RunningAt: now.Add(w.cfg.PendingFor),
	}
	if i.Tags == nil {
		i.Tags = map[string]string{}
	}
	if l.data.wantsIPv6() {
		i.IPv6 = l.subnet.ipv6Of(address)
	}
	if l.template.ID != "" {
		i.Tags["aws:ec2launchtemplate:id"] = l.template.ID
		i.Tags["aws:ec2launchtemplate:version"] = l.template.Version
	}
	if l.fleetID != "" {
		i.Tags["aws:ec2:fleet-id"] = l.fleetID
	}
	if l.pool.Capacity == Spot {
		i.SpotRequest = w.newID("sir")
	}
	w.settlePlacement(i, l)
	w.settleReservation(i, l)
	w.instances[i.ID] = i
	w.order = append(w.order, i)
	w.used[l.pool]++
	w.usedVCPU[l.pool.Capacity] += l.vcpus
	w.announceState(i, Pending, now)
	w.due(i.RunningAt)
	w.notify()
	return i
}

// firstSet returns the first text that is not empty.
func firstSet(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// A Run is a RunInstances request.
type Run struct {
	Min, Max int
	Template TemplateRef  // zero if there is none
	Data     TemplateData // takes precedence over the template's data
	Subnet   string
	Zone     string
	Spot     bool
	Token    string
}

// RunInstances launches at least Min and at most Max instances of one kind, or none.
func (w *World) RunInstances(r Run) ([]Instance, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	l, err := w.prepareRun(r)
	if err != nil {
		return nil, err
	}
	// Fewer than Min instances must not be launched, so the room is checked first.
	if l.reservation != nil && w.reserveRoom(l.reservation) < r.Min {
		return nil, wire.Errorf("ReservationCapacityExceeded",
			"The requested reservation '%s' does not have sufficient compatible and available capacity for this request.", l.reservation.ID)
	}
	if f := w.placeRoom(l); f != nil {
		return nil, wire.Errorf(f.Code, "%s", f.Message)
	}
	room, code := w.room(l.pool)
	if room < r.Min {
		return nil, wire.Errorf(code, "%s", capacityMessage(l.pool, code))
	}
	if w.quotaRoom(l.pool.Capacity, l.vcpus) < r.Min {
		f := w.quotaFailure(l.pool.Capacity)
		return nil, wire.Errorf(f.Code, "%s", f.Message)
	}
	if l.subnet.Free < r.Min {
		return nil, wire.Errorf("InsufficientFreeAddressesInSubnet",
			"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", l.subnet.ID)
	}
	made, failure := w.launchAll(l, r.Max)
	if len(made) == 0 { // several resources together are insufficient
		return nil, wire.Errorf(failure.Code, "%s", failure.Message)
	}
	out := make([]Instance, 0, len(made))
	for _, i := range made {
		out = append(out, *i)
	}
	return out, nil
}

// CheckRun returns the error of RunInstances for an invalid request. It does not check capacity.
func (w *World) CheckRun(r Run) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.prepareRun(r)
	return err
}

// prepareRun checks a RunInstances request and returns its launch.
func (w *World) prepareRun(r Run) (launch, *wire.Error) {
	if r.Min < 1 || r.Max < r.Min {
		return launch{}, wire.Errorf("InvalidParameterValue",
			"Value (%d) for parameter maxCount is invalid. It must be greater than or equal to minCount (%d), which must be greater than 0.", r.Max, r.Min)
	}
	l := launch{data: r.Data, token: r.Token, pool: Pool{Capacity: OnDemand}}
	if r.Spot {
		l.pool.Capacity = Spot
	}
	if r.Template != (TemplateRef{}) {
		t, n, err := w.templateVersion(r.Template)
		if err != nil {
			return l, err
		}
		l.template = TemplateRef{ID: t.ID, Name: t.Name, Version: fmt.Sprint(n)}
		l.data = overlay(t.Versions[n-1], r.Data)
	}
	if err := checkUserData(l.data.UserData); err != nil {
		return l, err
	}
	if err := CheckTags(l.data.Tags["instance"]); err != nil {
		return l, err
	}
	l.tags = l.data.Tags["instance"]
	l, failure := w.check(l, Override{Subnet: r.Subnet, Zone: r.Zone})
	if failure != nil {
		return l, wire.Errorf(failure.Code, "%s", failure.Message)
	}
	return l, nil
}

// overlay returns base with the fields that over sets. It considers only the fields that are named here; all others
// keep the values of base.
func overlay(base, over TemplateData) TemplateData {
	base.ImageID = firstSet(over.ImageID, base.ImageID)
	base.InstanceType = firstSet(over.InstanceType, base.InstanceType)
	base.UserData = firstSet(over.UserData, base.UserData)
	base.Profile = firstSet(over.Profile, base.Profile)
	base.ReservationPreference = firstSet(over.ReservationPreference, base.ReservationPreference)
	base.ReservationID = firstSet(over.ReservationID, base.ReservationID)
	if over.Placement != (Placement{}) {
		base.Placement = over.Placement
	}
	if len(over.NICs) > 0 {
		base.NICs = over.NICs
		base.SecurityGroups = nil
	}
	if len(over.SecurityGroups) > 0 {
		base.SecurityGroups = over.SecurityGroups
	}
	if len(over.BlockDevices) > 0 {
		base.BlockDevices = over.BlockDevices
	}
	tags := Tags{}
	for _, set := range []Tags{base.Tags, over.Tags} {
		for resource, t := range set {
			tags[resource] = merged(tags[resource], t)
		}
	}
	base.Tags = tags
	return base
}
