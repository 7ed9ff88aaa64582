package differential

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A storage holds the claims and volumes for the plugins. The plugins read the stores of informers, which do not run.
type storage struct {
	claims, volumes, limits cache.Store
	delta                   *model.Delta
}

// newStorage fills the plugins' listers with the objects that pods may refer to.
func newStorage(factory informers.SharedInformerFactory, d *model.Delta) (*storage, error) {
	st := &storage{
		claims:  factory.Core().V1().PersistentVolumeClaims().Informer().GetStore(),
		volumes: factory.Core().V1().PersistentVolumes().Informer().GetStore(),
		limits:  factory.Storage().V1().CSINodes().Informer().GetStore(),
		delta:   d,
	}
	for _, o := range d.Namespaces {
		if err := factory.Core().V1().Namespaces().Informer().GetStore().Add(o); err != nil {
			return nil, fmt.Errorf("add namespace: %w", err)
		}
	}
	for _, o := range d.StorageClasses {
		if err := factory.Storage().V1().StorageClasses().Informer().GetStore().Add(o); err != nil {
			return nil, fmt.Errorf("add storage class: %w", err)
		}
	}
	return st, st.reset()
}

// tell adds a CSINode for each node. A node without one gets the lowest limits of nodes of its type, or else the limits of the
// type.
func (st *storage) tell(nodes []*corev1.Node, s *model.Snapshot) {
	var all []any
	for _, n := range nodes {
		i := slices.IndexFunc(st.delta.CSINodes, func(o *storagev1.CSINode) bool { return o.Name == n.Name })
		if i >= 0 {
			all = append(all, st.delta.CSINodes[i])
			continue
		}
		if known, there := s.NodeByName(n.Name); there && known.Pool == "" {
			continue // a node without a pool has only the limits of its CSINode
		}
		o := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		for driver, most := range st.mostOf(n.Labels[corev1.LabelInstanceTypeStable], s) {
			o.Spec.Drivers = append(o.Spec.Drivers, storagev1.CSINodeDriver{
				Name: driver, NodeID: n.Name, Allocatable: &storagev1.VolumeNodeResources{Count: &most},
			})
		}
		all = append(all, o)
	}
	if err := st.limits.Replace(all, ""); err != nil {
		panic(fmt.Sprintf("a store in memory: %v", err))
	}
}

// mostOf returns the attach limit of each driver for a node of the type.
func (st *storage) mostOf(name string, s *model.Snapshot) map[string]int32 {
	most, seen := map[string]int32{}, map[string]bool{}
	for _, pool := range s.Pools() {
		for _, t := range s.Types(pool.Name) {
			if t.Name == name {
				for driver, n := range t.Attach {
					most[driver] = int32(n)
				}
			}
		}
	}
	for _, o := range st.delta.CSINodes {
		n, known := s.NodeByName(o.Name)
		if !known || n.Labels[corev1.LabelInstanceTypeStable] != name {
			continue
		}
		for _, d := range o.Spec.Drivers {
			if c := *d.Allocatable.Count; !seen[d.Name] || c < most[d.Name] {
				most[d.Name], seen[d.Name] = c, true
			}
		}
	}
	return most
}

// reset restores the claims and volumes of the cluster before any pod was placed. A controller creates the claim of an
// ephemeral volume as soon as its pod exists.
func (st *storage) reset() error {
	var claims, volumes []any
	for _, o := range st.delta.VolumeClaims {
		claims = append(claims, o)
	}
	for _, o := range st.delta.Volumes {
		volumes = append(volumes, o)
	}
	for _, p := range st.delta.Pods {
		for _, v := range p.Spec.Volumes {
			if v.Ephemeral != nil {
				claims = append(claims, ephemeralClaim(p, v))
			}
		}
	}
	return st.replace(claims, volumes)
}

// mark returns a function that restores the current claims and volumes.
func (st *storage) mark() (undo func() error) {
	claims, volumes := st.claims.List(), st.volumes.List()
	return func() error { return st.replace(claims, volumes) }
}

func (st *storage) replace(claims, volumes []any) error {
	if err := st.claims.Replace(claims, ""); err != nil {
		return fmt.Errorf("set claims: %w", err)
	}
	if err := st.volumes.Replace(volumes, ""); err != nil {
		return fmt.Errorf("set volumes: %w", err)
	}
	return nil
}

func ephemeralClaim(p *corev1.Pod, v corev1.Volume) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name + "-" + v.Name, Namespace: p.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec:   v.Ephemeral.VolumeClaimTemplate.Spec,
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

// provision acts as the storage drivers after a pod is bound: unbound claims of the pod get a volume in the zone of its node.
func (st *storage) provision(p *corev1.Pod, node *corev1.Node) error {
	for _, v := range p.Spec.Volumes {
		name := p.Name + "-" + v.Name
		if v.PersistentVolumeClaim != nil {
			name = v.PersistentVolumeClaim.ClaimName
		}
		o, found, err := st.claims.GetByKey(p.Namespace + "/" + name)
		if err != nil || !found {
			continue
		}
		claim := o.(*corev1.PersistentVolumeClaim).DeepCopy()
		if claim.Spec.VolumeName != "" {
			continue
		}
		claim.Spec.VolumeName, claim.Status.Phase = "made-for-"+p.Namespace+"-"+name, corev1.ClaimBound
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		if err := st.claims.Update(claim); err != nil {
			return fmt.Errorf("bind claim: %w", err)
		}
		if err := st.volumes.Add(volumeFor(claim, node)); err != nil {
			return fmt.Errorf("add volume: %w", err)
		}
	}
	return nil
}

func volumeFor(claim *corev1.PersistentVolumeClaim, node *corev1.Node) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
			StorageClassName: *claim.Spec.StorageClassName,
			ClaimRef:         &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: claim.Spec.VolumeName},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn,
						Values: []string{node.Labels[corev1.LabelTopologyZone]}},
				}}},
			}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
}
