package verify

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentAt is a term that looks at the pods of the story's daemon.
func agentAt(key string) corev1.PodAffinityTerm {
	t := near(key, "agent")
	t.Namespaces = []string{"system"}
	return t
}

// The story's daemon runs on every node: it has no pod on old yet, and comes with the planned node and with wish.
func TestDaemonsAreNeighbours(t *testing.T) {
	labelled := func(more func(*story)) func(*story) {
		return social(func(st *story) {
			st.agent.Spec.Template.Labels = map[string]string{"app": "agent"}
			more(st)
		})
	}
	onlyIn := func(st *story, zones ...string) {
		st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: zones}},
			}}},
		}}
	}
	has := func(st *story) { // old has its pod of the daemon
		p := newPod("agent-old", "200m")
		p.Namespace, p.Labels, p.Spec.NodeName = "system", map[string]string{"app": "agent"}, "old"
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"}}
		st.around.Pods = append(st.around.Pods, p)
	}
	bans := func(st *story) {
		st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{func() corev1.PodAffinityTerm {
				t := near(host, "web")
				t.Namespaces = []string{"default"}
				return t
			}()},
		}}
	}
	fearsOther := func(st *story, key string) {
		st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near(key, "other")},
		}}
	}
	other := func(st *story) *corev1.Pod { // runs on old
		p := newPod("other-old", "200m")
		p.Namespace, p.Labels, p.Spec.NodeName = "system", map[string]string{"app": "other"}, "old"
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning}
		st.around.Pods = append(st.around.Pods, p)
		return p
	}
	single := func(st *story) { // the daemon has one pod in each zone
		fearsOther(st, zone)
		st.agent.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0] = near(zone, "agent")
	}
	others := func(st *story) { // come to all nodes
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "other"}}
		d.Spec.Template.Labels, d.Spec.Template.Spec = map[string]string{"app": "other"}, newPod("", "0").Spec
		st.around.Daemons = append(st.around.Daemons, d)
	}
	wishIn := func(st *story, zones ...string) { st.wish.Spec.Requirements[1].Values = zones }
	stores := func(st *story) { // nobody can rely on a daemon with a volume
		st.agent.Spec.Template.Spec.Volumes = []corev1.Volume{{
			Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}},
		}}
	}
	like := func(st *story) { // web-1 is of the kind that it wants to be with
		t := near(host, "agent")
		t.Namespaces = []string{"system", "default"}
		st.web[0].Labels["app"] = "agent"
		with(st.web[0], t)
	}
	const planned = "planned node 0 (default), pod default/web-1: "
	for _, tt := range []spoiled{
		{
			name: "apart from a daemon that will come", only: true,
			cluster: labelled(func(st *story) { anti(st.web[0], agentAt(host)) }),
			want:    "antiAffinity: " + planned + `pods it wants to be apart from share kubernetes.io/hostname "planned node 0 (default)"`,
		},
		{
			name: "apart from one that a node has not got yet", only: true,
			cluster: labelled(func(st *story) { anti(st.web[2], agentAt(host)) }),
			want:    `antiAffinity: old, pod default/web-3: pods it wants to be apart from share kubernetes.io/hostname "old"`,
		},
		{
			name: "apart from one that may come with a claim", only: true,
			cluster: labelled(func(st *story) { onlyIn(st, "b"); anti(st.web[3], agentAt(host)) }),
			want:    `antiAffinity: wish, pod default/web-4: pods it wants to be apart from share kubernetes.io/hostname "wish"`,
		},
		{
			name:    "apart from one that runs elsewhere",
			cluster: labelled(func(st *story) { onlyIn(st, "b"); anti(st.web[0], agentAt(host)) }),
		},
		{name: "near one that will come", cluster: labelled(func(st *story) { with(st.web[0], agentAt(host)) })},
		{name: "near one that a node has not got yet", cluster: labelled(func(st *story) { with(st.web[2], agentAt(host)) })},
		{name: "near one that runs", cluster: labelled(func(st *story) { has(st); with(st.web[2], agentAt(host)) })},
		{
			name: "near one that runs elsewhere", only: true,
			cluster: labelled(func(st *story) { onlyIn(st, "b"); with(st.web[0], agentAt(host)) }),
			want:    "affinity: " + planned + "cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name: "near one that may come with a claim, or not", only: true,
			cluster: labelled(func(st *story) { onlyIn(st, "b"); with(st.web[3], agentAt(host)) }),
			want:    "affinity: wish, pod default/web-4: cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name: "near one that its own demands may keep away", only: true,
			cluster: labelled(func(st *story) { fearsOther(st, zone); others(st); with(st.web[0], agentAt(host)) }),
			want:    "affinity: " + planned + "cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name:    "near one that has demands which somebody in another zone breaks",
			cluster: labelled(func(st *story) { fearsOther(st, zone); other(st); with(st.web[0], agentAt(host)) }),
		},
		{
			name: "near one that has demands which somebody breaks who may turn out to be in the zone", only: true,
			cluster: labelled(func(st *story) { fearsOther(st, zone); other(st); with(st.web[3], agentAt(host)) }),
			want:    "affinity: wish, pod default/web-4: cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name:    "near one that has demands which somebody on another node breaks",
			cluster: labelled(func(st *story) { fearsOther(st, host); other(st); with(st.web[0], agentAt(host)) }),
		},
		{
			name:    "near one that has demands which nobody is there to break",
			cluster: labelled(func(st *story) { fearsOther(st, zone); with(st.web[0], agentAt(host)) }),
		},
		{
			name:    "near one that is apart from its own pods, on the only node of its zone",
			cluster: labelled(func(st *story) { single(st); wishIn(st, "b"); with(st.web[0], agentAt(host)) }),
		},
		{
			name: "near one that is apart from its own pods, but another node may be in the zone", only: true,
			cluster: labelled(func(st *story) { single(st); with(st.web[0], agentAt(host)) }),
			want:    "affinity: " + planned + "cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name: "near one that is apart from its own pods, of which one runs in the zone", only: true,
			cluster: labelled(func(st *story) { single(st); has(st); wishIn(st, "b"); with(st.web[3], agentAt(host)) }),
			want:    "affinity: wish, pod default/web-4: cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name:    "with one that may come to the same node alone, or the first of its kind",
			cluster: labelled(func(st *story) { onlyIn(st, "a"); wishIn(st, "b"); stores(st); like(st) }),
		},
		{
			name: "with one that may come to other nodes, too", only: true,
			cluster: labelled(func(st *story) { onlyIn(st, "a"); stores(st); like(st) }),
			want:    "affinity: " + planned + "cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name:    "with one that comes to all nodes of the zone, or to none",
			cluster: labelled(func(st *story) { wishIn(st, "a"); fearsOther(st, zone); other(st); others(st); like(st) }),
		},
		{
			name: "with one that comes to all nodes of a zone, but another may be in a different one", only: true,
			cluster: labelled(func(st *story) { fearsOther(st, zone); other(st); others(st); like(st) }),
			want:    "affinity: " + planned + "cannot find the pods that it wants to be with, in whatever order pods arrive",
		},
		{
			name:    "apart from one that somebody who runs keeps off",
			cluster: labelled(func(st *story) { fearsOther(st, host); other(st); anti(st.web[2], agentAt(host)) }),
		},
		{
			name: "apart from one that somebody who goes keeps off", only: true,
			cluster: labelled(func(st *story) {
				fearsOther(st, host)
				other(st).DeletionTimestamp = &metav1.Time{}
				anti(st.web[2], agentAt(host))
			}),
			want: `antiAffinity: old, pod default/web-3: pods it wants to be apart from share kubernetes.io/hostname "old"`,
		},
		{
			name: "let in where somebody who runs keeps it off, whatever the claim becomes",
			cluster: labelled(func(st *story) {
				fearsOther(st, zone)
				other(st)
				st.agent.Spec.Template.Spec.Affinity.PodAntiAffinity.
					RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"system", "default"}
				st.web[2].Labels["app"] = "other"
			}),
		},
		{
			name: "let in where it does not run, whatever the claim becomes",
			cluster: labelled(func(st *story) {
				fearsOther(st, zone)
				st.agent.Spec.Template.Spec.Affinity.PodAntiAffinity.
					RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"default"}
				st.agent.Spec.Template.Spec.NodeSelector = map[string]string{zone: "a"}
				st.web[2].Labels["app"] = "other"
			}),
		},
		{
			name: "kept out by one that will come", cluster: labelled(bans),
			want: `antiAffinity: wish, pod default/web-4: pod system/agent keeps it out of kubernetes.io/hostname "wish"`,
		},
	} {
		t.Run(tt.name, tt.run)
	}
}
