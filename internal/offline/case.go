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

// A Case is a cluster that is ready to be decided on.
type Case struct {
	// Delta has all objects, and the instance types of every pool.
	Delta model.Delta
	Now   time.Time
	// Labels are the labels that the catalogue gives meaning to.
	Labels apiv1.LabelRules
	// Leave are pods that no plan is made for, by key, and why.
	Leave map[string]model.Verdict
	// Spread holds what the scheduler makes selectors of for pods that say nothing about spread; its constraints are for the
	// caller to set.
	Spread topology.Defaults
	// Static are nodes that static NodePools lack. Delta has them as nodes that are there.
	Static []NodeResult
	// Warnings are what a reader of the result should know, a sentence each.
	Warnings []string
}

// assembly is a Case in the making.
type assembly struct {
	*Case
	set       *manifest.Set
	catalogue *Catalogue
	// nodes are those given, by name.
	nodes map[string]*corev1.Node
	// claims are the volume claims given, by namespace/name; class is for those that name none.
	claims map[string]bool
	class  string
	limits limits
	errs   manifest.Errors
}

// Assemble makes a Case of what was read. The objects of set are changed on the way, and shared. It returns all mistakes
// that the schemas could not find, as manifest.Errors.
func Assemble(set *manifest.Set, catalogue *Catalogue, now time.Time) (*Case, error) {
	a := &assembly{
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
	a.addBuffers()
	if len(a.errs) > 0 {
		return nil, a.errs
	}
	return a.Case, nil
}

func (a *assembly) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// addSurroundings adds what is neither pod nor capacity.
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

// furnishClaims does what the volume controllers do at once: claims get the default storage class, and one that names a
// volume that is there is bound to it.
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
	// isDefaultClass is the annotation of the storage class for claims that name none.
	isDefaultClass = "storageclass.kubernetes.io/is-default-class"
)

// defaultClass returns the name of the newest default class, "" without one.
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
