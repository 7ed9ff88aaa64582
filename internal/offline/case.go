package offline

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// A Case is a complete cluster for which decisions can be made.
type Case struct {
	// Delta has all objects, and the instance types of every pool.
	Delta model.Delta
	Now   time.Time
	// Labels are the label rules of the catalogue.
	Labels apiv1.LabelRules
	// DynamicResources is that of the Snapshot: DaemonSets whose pods have ResourceClaims count.
	DynamicResources bool
	// Leave are the pods that are not planned, by key, with the reason.
	Leave map[string]model.Verdict
	// Spread has the objects from which kube-scheduler derives the selectors of default spread constraints. The caller
	// sets its constraints.
	Spread topology.Defaults
	// Static are the nodes that static NodePools lack. Delta has them as existing nodes.
	Static []NodeResult
	// Warnings are sentences for users about the input.
	Warnings []string
}

// assembly is the state of Assemble.
type assembly struct {
	*Case
	set       *manifest.Set
	catalogue *Catalogue
	// nodes are the nodes of the input, by name.
	nodes map[string]*corev1.Node
	// claims are the PersistentVolumeClaims of the input, by namespace/name. class is the default storage class.
	claims map[string]bool
	class  string
	limits limits
	// most is the maximum number of pods of all workloads together. 0 means that there is only a maximum for each object.
	most int
	off  Off
	errs manifest.Errors
}

// Additions builds a Case of objects that add no capacity: pods, DaemonSets, PodDisruptionBudgets, namespaces and
// volumes. All pods of workloads are pending. It is a mistake if the workloads need more than most pods together; 0
// means no such limit. The error is a manifest.Errors.
func Additions(set *manifest.Set, now time.Time, most int) (*Case, error) {
	a := &assembly{
		Case: &Case{Now: now, Leave: map[string]model.Verdict{}, Warnings: slices.Clone(set.Warnings)},
		set:  set, nodes: map[string]*corev1.Node{}, claims: map[string]bool{}, most: most,
	}
	a.limits = newLimits(set)
	a.addSurroundings()
	a.addPods()
	if len(a.errs) > 0 {
		return nil, a.errs
	}
	return a.Case, nil
}

// Off are the features of the controller that are off. Objects of such a feature have no effect.
type Off struct{ Overlays, Buffers, Static bool }

// Assemble builds a Case from the objects that were read. It changes the objects of set and shares them with the Case. Mistakes
// that the schemas do not detect are returned together as a manifest.Errors. If the catalogue cannot supply the instance types
// of a NodePool, only that error is returned.
func Assemble(set *manifest.Set, catalogue *Catalogue, now time.Time) (*Case, error) {
	return AssembleWithout(set, catalogue, now, Off{})
}

// AssembleWithout is Assemble for a controller some of whose features are off.
func AssembleWithout(set *manifest.Set, catalogue *Catalogue, now time.Time, off Off) (*Case, error) {
	a := &assembly{
		off: off,
		Case: &Case{
			Now: now, Labels: catalogue.Labels(), Leave: map[string]model.Verdict{}, Warnings: slices.Clone(set.Warnings),
			Delta: model.Delta{Types: map[string][]*model.InstanceType{}},
		},
		set: set, catalogue: catalogue, nodes: map[string]*corev1.Node{}, claims: map[string]bool{},
	}
	a.limits = newLimits(set)
	if err := a.addPools(); err != nil {
		return nil, err
	}
	a.addNodes()
	a.addSurroundings()
	a.addPods()
	if !off.Buffers {
		a.addBuffers()
	}
	if len(a.errs) > 0 {
		return nil, a.errs
	}
	return a.Case, nil
}

func (a *assembly) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// addSurroundings adds the objects that decisions depend on besides NodePools, nodes and pods: namespaces,
// PodDisruptionBudgets, DaemonSets, objects of volumes, and those from which default spread constraints follow.
func (a *assembly) addSurroundings() {
	d := &a.Delta
	d.Namespaces = manifest.Of[*corev1.Namespace](a.set)
	d.PDBs = manifest.Of[*policyv1.PodDisruptionBudget](a.set)
	d.Volumes = manifest.Of[*corev1.PersistentVolume](a.set)
	d.VolumeClaims = manifest.Of[*corev1.PersistentVolumeClaim](a.set)
	d.StorageClasses = manifest.Of[*storagev1.StorageClass](a.set)
	d.CSINodes = manifest.Of[*storagev1.CSINode](a.set)
	d.Daemons = manifest.Of[*appsv1.DaemonSet](a.set)
	a.Spread = topology.Defaults{
		Services: manifest.Of[*corev1.Service](a.set), StatefulSets: manifest.Of[*appsv1.StatefulSet](a.set),
		ReplicaSets: slices.Clone(manifest.Of[*appsv1.ReplicaSet](a.set)),
	}
	for _, o := range manifest.Of[*appsv1.Deployment](a.set) {
		a.Spread.ReplicaSets = append(a.Spread.ReplicaSets, replicaSetOf(o))
	}
	for _, o := range d.Daemons {
		a.limits.admit(&o.Spec.Template.Spec, o.Namespace)
	}
	a.furnishClaims()
}

// furnishClaims sets what the volume controllers would set. A claim without a class gets the default storage class. A
// claim whose volumeName is the name of an existing volume is marked as bound to that volume.
func (a *assembly) furnishClaims() {
	a.class = defaultClass(a.Delta.StorageClasses)
	volumes := map[string]bool{}
	for _, v := range a.Delta.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range a.Delta.VolumeClaims {
		a.furnishClaim(c)
		a.claims[c.Namespace+"/"+c.Name] = true
		if volumes[c.Spec.VolumeName] && c.Annotations[bindCompleted] == "" {
			if c.Annotations == nil {
				c.Annotations = map[string]string{}
			}
			c.Annotations[bindCompleted] = "yes"
		}
	}
}

func (a *assembly) furnishClaim(c *corev1.PersistentVolumeClaim) {
	if c.Spec.VolumeName == "" && c.Spec.StorageClassName == nil && a.class != "" &&
		c.Annotations[corev1.BetaStorageClassAnnotation] == "" {
		c.Spec.StorageClassName = &a.class
	}
}

const (
	// bindCompleted is the annotation of a claim that is bound in both directions.
	bindCompleted = "pv.kubernetes.io/bind-completed"
	// isDefaultClass is the annotation of the default storage class.
	isDefaultClass = "storageclass.kubernetes.io/is-default-class"
)

// defaultClass returns the name of the newest default storage class, empty if there is none.
func defaultClass(classes []*storagev1.StorageClass) string {
	var best *storagev1.StorageClass
	for _, c := range classes {
		if c.Annotations[isDefaultClass] == "true" && (best == nil || best.CreationTimestamp.Before(&c.CreationTimestamp)) {
			best = c
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}
