package verify

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const driver = "disks.example.com"

// mounts gives p a PersistentVolumeClaim with its name. The claim is bound to a volume that is accessible from the zones.
func mounts(st *story, p *corev1.Pod, zones ...string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name,
			Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume-" + p.Name},
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume-" + p.Name}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle-" + p.Name}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: zones},
		}}},
	}}
	st.around.VolumeClaims = append(st.around.VolumeClaims, claim)
	st.around.Volumes = append(st.around.Volumes, volume)
	mount(p, claim.Name)
	return claim, volume
}

func mount(p *corev1.Pod, claim string) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}})
}

// classed gives p a PersistentVolumeClaim without a volume. Its StorageClass creates volumes only in the zones, if any are
// given.
func classed(st *story, p *corev1.Pod, zones ...string) *storagev1.StorageClass {
	claim, _ := mounts(st, p)
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: driver, VolumeBindingMode: &mode}
	if len(zones) > 0 {
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zone, Values: zones}},
		}}
	}
	name := class.Name
	claim.Spec.VolumeName, claim.Spec.StorageClassName = "", &name
	st.around.StorageClasses = append(st.around.StorageClasses, class)
	return class
}

// The plan places web-1 in zone a, web-3 on node old in zone b, and web-4 on a claim that may be launched in zone a or b.
func TestVolumeTopology(t *testing.T) {
	for _, tt := range []spoiled{
		{name: "in the zone of the planned node", cluster: func(st *story) { mounts(st, st.web[0], "a") }},
		{
			name: "in another zone", only: true,
			cluster: func(st *story) { mounts(st, st.web[0], "b") },
			want:    "volumes: planned node 0 (default), type m.small, pod default/web-1: the volume of claim default/web-1 cannot be attached to a node with",
		},
		{
			name: "in either of two zones", cluster: func(st *story) { mounts(st, st.web[3], "a", "b") },
		},
		{
			name: "a node that may become one of another zone", only: true,
			cluster: func(st *story) { mounts(st, st.web[3], "b") },
			want:    "volumes: wish, type m.small, pod default/web-4: the volume of claim default/web-4 cannot be attached to a node with",
		},
		{name: "in the zone of a node that is there", cluster: func(st *story) { mounts(st, st.web[2], "b") }},
		{
			name: "not in the zone of a node that is there", only: true,
			cluster: func(st *story) { mounts(st, st.web[2], "a") },
			want:    "volumes: old, pod default/web-3: the volume of claim default/web-3 cannot be attached to a node with",
		},
		{
			name: "by the old name of the label",
			cluster: func(st *story) {
				_, v := mounts(st, st.web[2], "b")
				v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = corev1.LabelFailureDomainBetaZone
			},
		},
		{
			name: "by the label of the volume", only: true,
			cluster: func(st *story) {
				_, v := mounts(st, st.web[2])
				v.Spec.NodeAffinity = nil
				v.Labels = map[string]string{zone: "a__c"}
			},
			want: "volumes: old, pod default/web-3",
		},
		{
			name: "on the disk of another node",
			cluster: func(st *story) {
				_, v := mounts(st, st.web[2])
				v.Spec.CSI, v.Spec.Local = nil, &corev1.LocalVolumeSource{}
				v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = host
			},
		},
		{name: "to be made anywhere", cluster: func(st *story) { classed(st, st.web[0]) }},
		{name: "to be made where the node is", cluster: func(st *story) { classed(st, st.web[0], "a") }},
		{
			name: "to be made elsewhere", only: true,
			cluster: func(st *story) { classed(st, st.web[0], "b") },
			want:    "volumes: planned node 0 (default), type m.small, pod default/web-1: the volume of claim default/web-1 cannot",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestClaims(t *testing.T) {
	const pod = "volumes: old, pod default/web-3: its claim default/web-3 "
	for _, tt := range []spoiled{
		{
			name: "missing", cluster: func(st *story) { mount(st.web[2], "web-3") },
			want: pod + "does not exist", only: true,
		},
		{
			name: "going", only: true,
			cluster: func(st *story) { c, _ := mounts(st, st.web[2], "b"); c.DeletionTimestamp = &metav1.Time{} },
			want:    pod + "is being deleted",
		},
		{
			name: "lost", only: true,
			cluster: func(st *story) { c, _ := mounts(st, st.web[2], "b"); c.Status.Phase = corev1.ClaimLost },
			want:    pod + "has lost its volume",
		},
		{
			name: "bound to nothing", only: true,
			cluster: func(st *story) { c, _ := mounts(st, st.web[2], "b"); c.Spec.VolumeName = "other" },
			want:    pod + "is bound to a volume that does not exist",
		},
		{
			name: "half bound", only: true,
			cluster: func(st *story) { c, _ := mounts(st, st.web[2], "b"); c.Annotations = nil },
			want:    pod + "is not completely bound",
		},
		{
			name: "neither volume nor class", only: true,
			cluster: func(st *story) { c, _ := mounts(st, st.web[2], "b"); c.Spec.VolumeName = "" },
			want:    pod + "has neither volume nor storage class",
		},
		{
			name: "no such class", only: true,
			cluster: func(st *story) { classed(st, st.web[2]).Name = "other" },
			want:    pod + "has no volume, and its storage class does not exist",
		},
		{
			name: "a class that does not wait for pods", only: true,
			cluster: func(st *story) { *classed(st, st.web[2]).VolumeBindingMode = storagev1.VolumeBindingImmediate },
			want:    pod + "has no volume yet, and its storage class binds without regard to its pod (Immediate)",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestEphemeralVolumes(t *testing.T) {
	ephemeral := func(st *story, class *string) {
		p := st.web[2]
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class},
			}},
		}}}
	}
	for _, tt := range []spoiled{
		{name: "not made yet", cluster: func(st *story) { ephemeral(st, &classed(st, st.web[2], "b").Name) }},
		{
			name: "not made yet, elsewhere", only: true,
			cluster: func(st *story) { ephemeral(st, &classed(st, st.web[2], "a").Name) },
			want:    "volumes: old, pod default/web-3: the volume of claim default/web-3-scratch cannot be attached",
		},
		{
			name: "another's", only: true,
			cluster: func(st *story) {
				c, _ := mounts(st, st.web[2], "b")
				c.Name = "web-3-scratch"
				ephemeral(st, nil)
			},
			want: "volumes: old, pod default/web-3: its claim default/web-3-scratch belongs to another",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestClaimsForOnePod(t *testing.T) {
	shared := func(users ...func(*story) *corev1.Pod) func(*story) {
		return func(st *story) {
			for i, user := range users {
				if i > 0 {
					mount(user(st), st.around.VolumeClaims[0].Name)
					continue
				}
				c, _ := mounts(st, user(st), "a", "b")
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			}
		}
	}
	web1 := func(st *story) *corev1.Pod { return st.web[0] }
	web2 := func(st *story) *corev1.Pod { return st.web[1] }
	huge := func(st *story) *corev1.Pod { return st.huge }
	there := func(st *story) *corev1.Pod { return st.there }
	for _, tt := range []spoiled{
		{name: "one", cluster: shared(web1)},
		{name: "one, and one that is refused", cluster: shared(web1, huge)},
		{
			name: "two", cluster: shared(web1, web2), only: true,
			want: "volumes: pod default/web-2: its claim default/web-1 is for one pod at a time, and default/web-1 uses it",
		},
		{
			name: "one beside one that runs", cluster: shared(there, web1), only: true,
			want: "volumes: pod default/web-1: its claim default/there is for one pod at a time, and default/there uses it",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// Node old runs a pod with one volume, and the plan places web-3 there, which has another volume.
func TestAttachLimits(t *testing.T) {
	limited := func(n int32, more func(*story)) func(*story) {
		return func(st *story) {
			mounts(st, st.there, "b")
			mounts(st, st.web[2], "b")
			st.around.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: storagev1.CSINodeSpec{
				Drivers: []storagev1.CSINodeDriver{{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &n}}},
			}}}
			if more != nil {
				more(st)
			}
		}
	}
	for _, tt := range []spoiled{
		{name: "room for both", cluster: limited(2, nil)},
		{
			name: "room for one", cluster: limited(1, nil), only: true,
			want: "volumes: old, pod default/web-3: driver disks.example.com attaches 1 volumes at most, this is number 2",
		},
		{
			name: "both share one", cluster: limited(1, func(st *story) {
				st.web[2].Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "there"
			}),
		},
		{
			name: "too many there already, but none comes", cluster: limited(0, func(st *story) { st.web[2].Spec.Volumes = nil }),
		},
		{
			name: "of another driver", cluster: limited(1, func(st *story) { st.around.Volumes[0].Spec.CSI.Driver = "files.example.com" }),
		},
		{
			name:    "a driver without a limit",
			cluster: limited(1, func(st *story) { st.around.CSINodes[0].Spec.Drivers[0].Allocatable = nil }),
		},
		{
			name: "a driver without a limit on the node, although its type has one",
			cluster: limited(1, func(st *story) {
				st.around.CSINodes[0].Spec.Drivers[0].Allocatable = nil
				st.old.Labels[corev1.LabelInstanceTypeStable], st.small.Attach = "m.small", map[string]int{driver: 1}
			}),
		},
		{
			name: "a volume of a kind that Kubernetes once attached itself", only: true,
			cluster: limited(1, func(st *story) {
				for _, v := range st.around.Volumes {
					v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
						AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: v.Name},
					}
				}
				st.around.CSINodes[0].Spec.Drivers[0].Name = ebsDriver
			}),
			want: "volumes: old, pod default/web-3: driver ebs.csi.aws.com attaches 1",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// The plan places web-1 and web-2 on a new node of type small or large, and web-4 on a claim of type small.
func TestAttachLimitsOfNewNodes(t *testing.T) {
	told := func(n int32, more func(*story)) func(*story) {
		return func(st *story) {
			mounts(st, st.web[0], "a")
			mounts(st, st.web[1], "a")
			st.large.Attach = map[string]int{driver: 2}
			st.small.Attach = map[string]int{driver: int(n)}
			if more != nil {
				more(st)
			}
		}
	}
	like := func(n int32) func(*story) { // node old has type small
		return func(st *story) {
			st.old.Labels[corev1.LabelInstanceTypeStable] = "m.small"
			st.around.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: storagev1.CSINodeSpec{
				Drivers: []storagev1.CSINodeDriver{{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &n}}},
			}}}
		}
	}
	daemonMounts := func(st *story) {
		claim, _ := mounts(st, newPod("agent", "200m"), "a")
		claim.Namespace = "system"
		st.agent.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}}}
	}
	const one = "volumes: planned node 0 (default), type m.small, pod default/web-2: " +
		"driver disks.example.com attaches 1 volumes at most, this is number 2"
	for _, tt := range []spoiled{
		{name: "room for both", cluster: told(2, nil)},
		{name: "room for one on one of the types", cluster: told(1, nil), only: true, want: one},
		{
			name:    "both share one",
			cluster: told(1, func(st *story) { st.web[1].Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "web-1" }),
		},
		{name: "no limit is known", cluster: told(1, func(st *story) { st.small.Attach = nil })},
		{name: "of another driver", cluster: told(1, func(st *story) { st.small.Attach = map[string]int{"files.example.com": 0} })},
		{name: "a node of the type knows better", cluster: told(1, like(2))},
		{name: "a node of the type has fewer", cluster: told(2, like(1)), only: true, want: one},
		{name: "a daemon has one too", cluster: told(2, daemonMounts), only: true, want: "volumes: planned node 0 (default), " +
			"type m.small, pod default/web-2: driver disks.example.com attaches 2 volumes at most, this is number 3"},
		{name: "room for a daemon's as well", cluster: told(3, func(st *story) {
			daemonMounts(st)
			st.large.Attach = map[string]int{driver: 3}
		})},
		{
			name: "a daemon's is to come to a node that is there", only: true,
			cluster: told(3, func(st *story) {
				daemonMounts(st)
				like(1)(st)
				st.small.Attach, st.large.Attach, st.old.Labels[corev1.LabelInstanceTypeStable] = nil, nil, "m.other"
				mounts(st, st.web[2], "b")
			}),
			want: "volumes: old, pod default/web-3: driver disks.example.com attaches 1 volumes at most, this is number 2",
		},
		{
			name:    "on a claim",
			cluster: told(2, func(st *story) { mounts(st, st.web[3], "a", "b"); st.small.Attach = map[string]int{driver: 0} }),
			want:    "volumes: wish, type m.small, pod default/web-4: driver disks.example.com attaches 0 volumes at most, this is number 1",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}
