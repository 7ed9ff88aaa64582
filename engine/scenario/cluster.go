package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Cluster is the content of a section cluster.yaml. Omitted fields have simple defaults: one pod, on-demand, zone a,
// architecture amd64.
type Cluster struct {
	Now     time.Time         `json:"now,omitempty"`
	Pods    []Pod             `json:"pods,omitempty"`
	Pools   []Pool            `json:"pools,omitempty"`
	Types   []Type            `json:"types,omitempty"`
	Nodes   []Node            `json:"nodes,omitempty"`
	Claims  []Claim           `json:"claims,omitempty"`
	Daemons []Pod             `json:"daemons,omitempty"`
	Promise map[string]string `json:"promise,omitempty"`
	// Commitments are what is paid for already, in the order in which it applies.
	Commitments []Commitment `json:"commitments,omitempty"`

	Namespaces []Namespace    `json:"namespaces,omitempty"`
	Disks      []Disk         `json:"disks,omitempty"`
	Storage    []StorageClass `json:"storage,omitempty"`
	Budgets    []Budget       `json:"budgets,omitempty"`

	// Spread are kube-scheduler's default spread constraints. Their label selectors are derived from Services.
	Spread   []corev1.TopologySpreadConstraint `json:"defaultSpread,omitempty"`
	Services []Service                         `json:"services,omitempty"`
}

// A Pod describes Count equal pods. One pod has the name Name, several have Name-1, Name-2 and so on.
type Pod struct {
	Name        string            `json:"name"`
	Space       string            `json:"namespace,omitempty"` // default "default"
	Count       int               `json:"count,omitempty"`
	CPU         string            `json:"cpu,omitempty"`
	Memory      string            `json:"memory,omitempty"`
	Also        map[string]string `json:"also,omitempty"` // further resources
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Owner       string            `json:"owner,omitempty"` // kind of the pod's controller
	Priority    int32             `json:"priority,omitempty"`
	PodState
	// Mounts are names of PersistentVolumeClaims, which need not exist in Disks. Scratch is the storage class of an
	// ephemeral volume.
	Mounts  []string       `json:"mounts,omitempty"`
	Scratch string         `json:"scratch,omitempty"`
	Spec    corev1.PodSpec `json:"spec,omitempty"`
}

// A PodState is how far a pod is in its life. Its keys are keys of Pod.
type PodState struct {
	// Done sets the phase Succeeded.
	Done bool `json:"done,omitempty"`
	// Started is how long before epoch the pod started, nil if it has not started.
	Started     *metav1.Duration `json:"started,omitempty"`
	Terminating bool             `json:"terminating,omitempty"` // being deleted, still running
	// Nominated is the pod's status.nominatedNodeName.
	Nominated string `json:"nominated,omitempty"`
}

// A Pool is a NodePool. It is ready unless NotReady is set.
type Pool struct {
	Name         string                                       `json:"name"`
	Weight       int32                                        `json:"weight,omitempty"`
	Labels       map[string]string                            `json:"labels,omitempty"`
	Taints       []corev1.Taint                               `json:"taints,omitempty"`
	Startup      []corev1.Taint                               `json:"startupTaints,omitempty"`
	Requirements []apiv1.NodeSelectorRequirementWithMinValues `json:"requirements,omitempty"`
	Limits       corev1.ResourceList                          `json:"limits,omitempty"`
	Disruption   apiv1.Disruption                             `json:"disruption,omitempty"`
	NotReady     bool                                         `json:"notReady,omitempty"`
	Replicas     *int64                                       `json:"replicas,omitempty"`
	Annotations  map[string]string                            `json:"annotations,omitempty"`
}

// A Type is an instance type. Its allocatable resources equal its capacity, because scenarios have no kubelet overhead.
type Type struct {
	Name   string            `json:"name"`
	CPU    string            `json:"cpu"`
	Memory string            `json:"memory"`
	Pods   int64             `json:"pods,omitempty"` // default 110
	Also   map[string]string `json:"also,omitempty"`
	Arch   string            `json:"arch,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Price  float64           `json:"price"`
	Spot   float64           `json:"spot,omitempty"`  // zero if there is no spot offering
	Zones  []string          `json:"zones,omitempty"` // default a
	Out    []string          `json:"out,omitempty"`   // offerings without capacity, as zone/capacity-type
	// Reserved is how many instances are left in a capacity reservation in the first zone. With zero, there is no
	// reservation unless Full is set.
	Reserved int `json:"reserved,omitempty"`
	// Full adds a capacity reservation in the first zone, even if Reserved is zero.
	Full bool `json:"full,omitempty"`
	// Attach is the attach limit of each CSI driver that the cloud reports for the type.
	Attach map[string]int `json:"attach,omitempty"`
}

// A Commitment covers on-demand nodes of the types in Use.
type Commitment struct {
	Name  string `json:"name"`
	Units int64  `json:"units"`
	// Use is how many units a node uses, by type.
	Use   map[string]int64 `json:"use"`
	Zones []string         `json:"zones,omitempty"` // default all
}

// cover adds the commitment to the offerings that it covers.
func (c Commitment) cover(order int, types []*model.InstanceType) {
	made := &commitment.Commitment{ID: c.Name, Order: order, Units: c.Units}
	for _, t := range types {
		for i := range t.Offerings {
			o := &t.Offerings[i]
			use := c.Use[t.Name]
			if use > 0 && o.CapacityType == apiv1.CapacityTypeOnDemand && (len(c.Zones) == 0 || slices.Contains(c.Zones, o.Zone)) {
				o.Covers = append(o.Covers, commitment.Cover{Commitment: made, Use: use})
			}
		}
	}
}

// A Node is an existing node of a type, with the pods on it.
type Node struct {
	Name         string            `json:"name"`
	Pool         string            `json:"pool,omitempty"`
	Type         string            `json:"type"`
	Zone         string            `json:"zone,omitempty"`
	CapacityType string            `json:"capacityType,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Taints       []corev1.Taint    `json:"taints,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	NodeState
	Conditions []string         `json:"conditions,omitempty"` // conditions of the claim: type, type/reason or type=status/reason
	Attach     map[string]int32 `json:"attach,omitempty"`     // attach limit of each CSI driver, -1 for none
	Pods       []Pod            `json:"pods,omitempty"`
	Life       Life             `json:"life,omitempty"`
}

// A NodeState is how far a node is in its life, and its health. Its keys are keys of Node.
type NodeState struct {
	Starting bool `json:"starting,omitempty"` // launched, not registered
	Joining  bool `json:"joining,omitempty"`  // registered, not initialized
	Deleting bool `json:"deleting,omitempty"`
	Cordoned bool `json:"cordoned,omitempty"`
	NotReady bool `json:"notReady,omitempty"`
	// Health are conditions of the Node, as type=status/reason. They changed HealthFor before epoch.
	Health    []string        `json:"health,omitempty"`
	HealthFor metav1.Duration `json:"healthFor,omitempty"`
}

// A Claim is a NodeClaim that is not launched yet. Each of Types may be launched for it.
type Claim struct {
	Name   string         `json:"name"`
	Pool   string         `json:"pool"`
	Types  []string       `json:"types"`
	Zones  []string       `json:"zones,omitempty"` // default any
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Requirements are those besides Types and Zones.
	Requirements []apiv1.NodeSelectorRequirementWithMinValues `json:"requirements,omitempty"`
	// Annotations are the annotations of the claim.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// epoch is the time of a scenario whose cluster.yaml has no field now.
var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// Snapshot builds the snapshot that c describes.
func (c *Cluster) Snapshot() (*model.Snapshot, error) {
	d, err := c.Delta()
	if err != nil {
		return nil, err
	}
	now := c.Now
	if now.IsZero() {
		now = epoch
	}
	return model.Compile(d).At(now).WithTargets(c.Promise), nil
}

// Delta returns the objects that c describes.
func (c *Cluster) Delta() (model.Delta, error) {
	d := model.Delta{Types: map[string][]*model.InstanceType{}}
	list := make([]*model.InstanceType, len(c.Types))
	for i, t := range c.Types {
		list[i] = t.model()
	}
	slices.SortFunc(list, func(a, b *model.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	for i, x := range c.Commitments {
		x.cover(i, list)
	}
	for _, p := range c.Pools {
		d.Pools = append(d.Pools, p.object())
		d.Types[p.Name] = list
	}
	for _, p := range c.Pods {
		d.Pods = append(d.Pods, p.objects("")...)
	}
	for _, p := range c.Daemons {
		d.Daemons = append(d.Daemons, p.daemon())
	}
	for _, n := range c.Nodes {
		i := slices.IndexFunc(list, func(t *model.InstanceType) bool { return t.Name == n.Type })
		if i < 0 {
			return d, fmt.Errorf("node %s: no type %q", n.Name, n.Type)
		}
		n.add(&d, list[i])
	}
	for _, cl := range c.Claims {
		d.Claims = append(d.Claims, cl.object())
	}
	c.surround(&d)
	return d, nil
}

func (p Pod) objects(node string) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range max(p.Count, 1) {
		name := p.Name
		if p.Count > 1 {
			name = fmt.Sprintf("%s-%d", p.Name, i+1)
		}
		out = append(out, p.object(name, node))
	}
	return out
}

func (p Pod) object(name, node string) *corev1.Pod {
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: cmp.Or(p.Space, "default"), UID: types.UID(name), Labels: p.Labels, Annotations: p.Annotations,
		},
		Spec: *p.Spec.DeepCopy(),
	}
	o.Spec.NodeName, o.Status.NominatedNodeName = node, p.Nominated
	if p.Priority != 0 {
		o.Spec.Priority = &p.Priority
	}
	o.Spec.Volumes = append(o.Spec.Volumes, p.volumes()...)
	requests := corev1.ResourceList{}
	for key, v := range p.Also {
		requests[corev1.ResourceName(key)] = resource.MustParse(v)
	}
	if p.CPU != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(p.CPU)
	}
	if p.Memory != "" {
		requests[corev1.ResourceMemory] = resource.MustParse(p.Memory)
	}
	if p.Terminating {
		o.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	if len(o.Spec.Containers) == 0 {
		o.Spec.Containers = []corev1.Container{{Name: "main"}}
	}
	if o.Spec.Containers[0].Name == "" {
		o.Spec.Containers[0].Name = "main"
	}
	for key, v := range o.Spec.Containers[0].Resources.Requests {
		requests[key] = v
	}
	o.Spec.Containers[0].Resources.Requests = requests
	if p.Owner != "" {
		yes := true
		o.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: p.Owner, Name: "owner", UID: "owner", Controller: &yes},
		}
	}
	if p.Started != nil {
		o.Status.StartTime = &metav1.Time{Time: epoch.Add(-p.Started.Duration)}
	}
	switch {
	case p.Done:
		o.Status.Phase = corev1.PodSucceeded
	case node != "":
		o.Status.Phase = corev1.PodRunning
	default:
		o.Status.Phase = corev1.PodPending
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	return o
}

func (p Pod) daemon() *appsv1.DaemonSet {
	pod := p.object(p.Name, "")
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: cmp.Or(p.Space, "default")},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: pod.Spec,
		}},
	}
}

func (p Pool) object() *apiv1.NodePool {
	o := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: types.UID(p.Name)}}
	o.Spec.Template.Labels = p.Labels
	o.Spec.Template.Spec.Taints, o.Spec.Template.Spec.StartupTaints = p.Taints, p.Startup
	o.Spec.Template.Spec.Requirements = p.Requirements
	o.Spec.Limits = apiv1.Limits(p.Limits)
	o.Spec.Disruption = p.Disruption
	o.Spec.Replicas = p.Replicas
	o.Annotations = p.Annotations
	if p.Weight != 0 {
		o.Spec.Weight = &p.Weight
	}
	status := metav1.ConditionTrue
	if p.NotReady {
		status = metav1.ConditionFalse
	}
	o.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: status}}
	return o
}

func (t Type) model() *model.InstanceType {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(t.CPU),
		corev1.ResourceMemory: resource.MustParse(t.Memory),
		corev1.ResourcePods:   *resource.NewQuantity(cmp.Or(t.Pods, 110), resource.DecimalSI),
	}
	for key, v := range t.Also {
		list[corev1.ResourceName(key)] = resource.MustParse(v)
	}
	zones := t.Zones
	if len(zones) == 0 {
		zones = []string{"a"}
	}
	capacityTypes := []string{apiv1.CapacityTypeOnDemand}
	if t.Spot > 0 {
		capacityTypes = append(capacityTypes, apiv1.CapacityTypeSpot)
	}
	stated := capacityTypes
	if t.Reserved > 0 || t.Full {
		stated = append(slices.Clone(capacityTypes), apiv1.CapacityTypeReserved)
	}
	reqs := require.FromLabels(t.Labels).And(require.FromLabels(map[string]string{
		corev1.LabelInstanceTypeStable: t.Name,
		corev1.LabelArchStable:         cmp.Or(t.Arch, apiv1.ArchitectureAmd64),
		corev1.LabelOSStable:           "linux",
	})).With(
		require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...),
		require.New(apiv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, stated...),
	)
	m := &model.InstanceType{Name: t.Name, Requirements: reqs, Attach: t.Attach}
	m.Capacity = model.CapacityOf(list)
	m.Allocatable = m.Capacity
	for _, zone := range zones {
		for _, ct := range capacityTypes {
			price := t.Price
			if ct == apiv1.CapacityTypeSpot {
				price = t.Spot
			}
			m.Offerings = append(m.Offerings, model.Offering{
				Zone: zone, CapacityType: ct, Price: price, Available: !slices.Contains(t.Out, zone+"/"+ct),
				Requirements: require.FromLabels(map[string]string{
					corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: ct,
				}),
			})
		}
	}
	if t.Reserved > 0 || t.Full {
		m.Offerings = append(m.Offerings, t.reservation(zones[0]))
	}
	return m
}

// reservation returns the offering of the type's capacity reservation in the zone. Its price is nearly zero, because
// the capacity is paid for in advance.
func (t Type) reservation(zone string) model.Offering {
	id := "r-" + t.Name
	return model.Offering{
		Zone: zone, CapacityType: apiv1.CapacityTypeReserved, Price: t.Price / 1e7, Available: true,
		ReservationID: id, ReservationCapacity: t.Reserved,
		Requirements: require.FromLabels(map[string]string{
			corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeReserved, ReservationLabel: id,
		}),
	}
}

// ReservationLabel is the label of a node with the ID of the capacity reservation in which it runs.
const ReservationLabel = "example.com/reservation"

// add adds the node, its claim if it has a pool, and its pods to d.
func (n Node) add(d *model.Delta, t *model.InstanceType) {
	labels := map[string]string{
		corev1.LabelHostname:       n.Name,
		corev1.LabelTopologyZone:   cmp.Or(n.Zone, "a"),
		apiv1.CapacityTypeLabelKey: cmp.Or(n.CapacityType, apiv1.CapacityTypeOnDemand),
	}
	for key, v := range t.Requirements.Labels() {
		labels[key] = v
	}
	for key, v := range n.Labels {
		labels[key] = v
	}
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels, Annotations: n.Annotations}}
	if n.Life.Age.Duration > 0 {
		o.CreationTimestamp = metav1.Time{Time: epoch.Add(-n.Life.Age.Duration)}
	}
	o.Spec.ProviderID = "test:///" + n.Name
	o.Spec.Taints, o.Spec.Unschedulable = n.Taints, n.Cordoned
	o.Status.Capacity, o.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	ready := corev1.ConditionTrue
	if n.NotReady {
		ready = corev1.ConditionFalse
	}
	o.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	for _, text := range n.Health {
		c := conditionOf(text)
		o.Status.Conditions = append(o.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason,
			LastTransitionTime: metav1.Time{Time: epoch.Add(-n.HealthFor.Duration)},
		})
	}
	if n.Pool != "" {
		labels[apiv1.NodePoolLabelKey] = n.Pool
		d.Claims = append(d.Claims, n.claim(labels, t))
	}
	if !n.Starting {
		if n.Pool != "" {
			labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = "true", "true"
		}
		if n.Joining {
			delete(labels, apiv1.NodeInitializedLabelKey)
		}
		d.Nodes = append(d.Nodes, o)
	}
	for _, p := range n.Pods {
		d.Pods = append(d.Pods, p.objects(n.Name)...)
	}
}

func (n Node) claim(labels map[string]string, t *model.InstanceType) *apiv1.NodeClaim {
	own := map[string]string{}
	for key, v := range labels {
		own[key] = v
	}
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-claim", Labels: own}}
	c.Spec.Taints = n.Taints
	c.Status.ProviderID = "test:///" + n.Name
	c.Status.Capacity, c.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	for _, name := range n.Conditions {
		c.Status.Conditions = append(c.Status.Conditions, conditionOf(name))
	}
	if n.Deleting {
		c.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	n.Life.set(c)
	return c
}

// conditionOf parses a condition of the form type=status/reason. The default status is True.
func conditionOf(text string) metav1.Condition {
	text, reason, _ := strings.Cut(text, "/")
	name, status, _ := strings.Cut(text, "=")
	return metav1.Condition{Type: name, Status: cmp.Or(metav1.ConditionStatus(status), metav1.ConditionTrue), Reason: reason}
}

func (c Claim) object() *apiv1.NodeClaim {
	o := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: c.Name, Labels: map[string]string{apiv1.NodePoolLabelKey: c.Pool}, Annotations: c.Annotations,
	}}
	o.Spec.Taints = c.Taints
	o.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: c.Types},
	}
	if len(c.Zones) > 0 {
		o.Spec.Requirements = append(o.Spec.Requirements, apiv1.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: c.Zones,
		})
	}
	o.Spec.Requirements = append(o.Spec.Requirements, c.Requirements...)
	return o
}
