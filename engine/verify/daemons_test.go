package verify

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentBy returns a term that selects the pods of the story's DaemonSet in the same domain of key.
func agentBy(key string) corev1.PodAffinityTerm {
	t := near(key, "agent")
	t.Namespaces = []string{"system"}
	return t
}

// withAgent gives the pods of the story's DaemonSet the label app=agent, and then calls more. The DaemonSet selects every
// node, but none runs its pod yet: neither node old, nor the planned node, nor claim wish.
func withAgent(more func(*story)) func(*story) {
	return social(func(st *story) {
		st.agent.Spec.Template.Labels = map[string]string{"app": "agent"}
		more(st)
	})
}

// onlyIn makes the story's DaemonSet select only nodes in these zones.
func onlyIn(st *story, zones ...string) {
	st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: zones}},
		}}},
	}}
}

// runsOnOld adds a running pod to node old, in the namespace system and with the label app.
func runsOnOld(st *story, name, app string) *corev1.Pod {
	p := newPod(name, "200m")
	p.Namespace, p.Labels, p.Spec.NodeName = "system", map[string]string{"app": app}, "old"
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	st.around.Pods = append(st.around.Pods, p)
	return p
}

// addDaemonSet adds a DaemonSet that runs on every node.
func addDaemonSet(st *story, name string) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name}}
	d.Spec.Template.Labels, d.Spec.Template.Spec = map[string]string{"app": name}, newPod("", "0").Spec
	st.around.Daemons = append(st.around.Daemons, d)
	return d
}

func hostPort(spec *corev1.PodSpec, port int32) {
	spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
}

const (
	noCompany = "no pod that its required affinity selects is certain to be in its domain when it is placed"
	onPlanned = "planned node 0 (default), pod default/web-1: "
)

// A pod of a certain DaemonSet counts as running on each node whose labels are certain to match.
func TestCertainDaemonSet(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name: "avoided on the planned node", only: true,
			cluster: withAgent(func(st *story) { anti(st.web[0], agentBy(host)) }),
			want:    "antiAffinity: " + onPlanned + `a pod that its required anti-affinity selects may be in kubernetes.io/hostname "planned node 0 (default)"`,
		},
		{
			name: "avoided on an existing node that does not run it yet", only: true,
			cluster: withAgent(func(st *story) { anti(st.web[2], agentBy(host)) }),
			want:    `antiAffinity: old, pod default/web-3: a pod that its required anti-affinity selects may be in kubernetes.io/hostname "old"`,
		},
		{
			name: "avoided on a claim that may run it", only: true,
			cluster: withAgent(func(st *story) { onlyIn(st, "b"); anti(st.web[3], agentBy(host)) }),
			want:    `antiAffinity: wish, pod default/web-4: a pod that its required anti-affinity selects may be in kubernetes.io/hostname "wish"`,
		},
		{
			name:    "avoided on a node that it does not select",
			cluster: withAgent(func(st *story) { onlyIn(st, "b"); anti(st.web[0], agentBy(host)) }),
		},
		{name: "needed on the planned node", cluster: withAgent(func(st *story) { with(st.web[0], agentBy(host)) })},
		{name: "needed on an existing node that does not run it yet", cluster: withAgent(func(st *story) { with(st.web[2], agentBy(host)) })},
		{
			name: "needed on an existing node that runs it",
			cluster: withAgent(func(st *story) {
				runsOnOld(st, "agent-old", "agent").OwnerReferences = []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"},
				}
				with(st.web[2], agentBy(host))
			}),
		},
		{
			name: "needed on a node that it does not select", only: true,
			cluster: withAgent(func(st *story) { onlyIn(st, "b"); with(st.web[0], agentBy(host)) }),
			want:    "affinity: " + onPlanned + noCompany,
		},
		{
			name: "needed on a claim that may run it or not", only: true,
			cluster: withAgent(func(st *story) { onlyIn(st, "b"); with(st.web[3], agentBy(host)) }),
			want:    "affinity: wish, pod default/web-4: " + noCompany,
		},
		{
			name: "needed on an existing node that lacks the resources for it",
			cluster: withAgent(func(st *story) {
				st.there.Spec.Containers[0].Resources.Requests = list("cpu", "3800m")
				st.web[2].Spec.Containers[0].Resources.Requests = list("cpu", "0")
				with(st.web[2], agentBy(host))
			}),
			want: "affinity: old, pod default/web-3: " + noCompany,
		},
		{
			name: "needed on an existing node where a running pod has its host port", only: true,
			cluster: withAgent(func(st *story) {
				hostPort(&st.agent.Spec.Template.Spec, 80)
				hostPort(&st.there.Spec, 80)
				with(st.web[2], agentBy(host))
			}),
			want: "affinity: old, pod default/web-3: " + noCompany,
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// It is not known whether pods of an uncertain DaemonSet will run on a new node. So web-1 on the planned node is a violation
// if its affinity requires such a pod, and also if its anti-affinity excludes one. The map has one entry for each reason why a
// DaemonSet is uncertain.
func TestUncertainDaemonSet(t *testing.T) {
	for name, cause := range map[string]func(*story){
		"required affinity": func(st *story) {
			st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near(host, "other")},
			}}
		},
		"required anti-affinity to its own pods": func(st *story) {
			st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near(zone, "agent")},
			}}
		},
		"hard spread": func(st *story) {
			st.agent.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: zone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: ofApp("agent")},
			}
		},
		"the host port of another DaemonSet": func(st *story) {
			hostPort(&st.agent.Spec.Template.Spec, 80)
			hostPort(&addDaemonSet(st, "other").Spec.Template.Spec, 80)
		},
		"a volume": func(st *story) {
			st.agent.Spec.Template.Spec.Volumes = []corev1.Volume{{
				Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}},
			}}
		},
		"the anti-affinity of another DaemonSet": func(st *story) {
			addDaemonSet(st, "other").Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near(host, "agent")},
			}}
		},
		"the anti-affinity of a running pod": func(st *story) { anti(runsOnOld(st, "runs", "runs"), near(host, "agent")) },
		"the anti-affinity of a pod on a node that leaves": func(st *story) {
			anti(runsOnOld(st, "runs", "runs"), near(host, "agent"))
			st.around.Pods[0].Spec.NodeName = "gone"
		},
	} {
		t.Run(name, func(t *testing.T) {
			spoiled{
				cluster: withAgent(func(st *story) { cause(st); with(st.web[0], agentBy(host)) }),
				want:    "affinity: " + onPlanned + noCompany,
			}.run(t)
			spoiled{
				cluster: withAgent(func(st *story) { cause(st); anti(st.web[0], agentBy(host)) }),
				want:    "antiAffinity: " + onPlanned + "a pod that its required anti-affinity selects may be",
			}.run(t)
		})
	}
	for name, cause := range map[string]func(*story){
		"spread that may be ignored": func(st *story) {
			st.agent.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: zone, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: ofApp("agent")},
			}
		},
		"another host port": func(st *story) {
			hostPort(&st.agent.Spec.Template.Spec, 80)
			hostPort(&addDaemonSet(st, "other").Spec.Template.Spec, 81)
		},
		"anti-affinity of a running pod to other pods": func(st *story) { anti(runsOnOld(st, "runs", "runs"), near(host, "db")) },
	} {
		t.Run("certain with "+name, spoiled{cluster: withAgent(func(st *story) { cause(st); with(st.web[0], agentBy(host)) })}.run)
	}
}

// The anti-affinity of a DaemonSet excludes the pods that it selects from each node that may run its pod.
func TestAntiAffinityOfDaemonSet(t *testing.T) {
	avoids := func(st *story, key string) {
		term := near(key, "web")
		term.Namespaces = []string{"default"}
		if st.agent.Spec.Template.Spec.Affinity == nil {
			st.agent.Spec.Template.Spec.Affinity = &corev1.Affinity{}
		}
		st.agent.Spec.Template.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}
	}
	for _, tt := range []spoiled{
		{
			name: "on every node", cluster: withAgent(func(st *story) { avoids(st, host) }),
			want: `antiAffinity: wish, pod default/web-4: required anti-affinity of a pod that may be in kubernetes.io/hostname "wish" excludes it`,
		},
		{
			name: "in the zone in which a claim may run it",
			cluster: withAgent(func(st *story) {
				onlyIn(st, "a")
				avoids(st, zone)
				st.web[0].Labels, st.web[1].Labels, st.web[3].Labels = nil, nil, nil
			}),
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// kube-scheduler's first-pod rule does not apply to a pod if its affinity selects a DaemonSet whose pods may run on some node.
func TestFirstPodBesideDaemonSet(t *testing.T) {
	like := func(st *story) { // the affinity of web-1 selects web-1 and the DaemonSet's pods
		term := near(host, "agent")
		term.Namespaces = []string{"system", "default"}
		st.web[0].Labels["app"] = "agent"
		with(st.web[0], term)
	}
	volume := func(st *story) {
		st.agent.Spec.Template.Spec.Volumes = []corev1.Volume{{
			Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}},
		}}
	}
	for _, tt := range []spoiled{
		{name: "it runs on the same node", cluster: withAgent(like)},
		{
			name: "it may run on the same node", only: true,
			cluster: withAgent(func(st *story) { onlyIn(st, "a"); volume(st); like(st) }),
			want:    "affinity: " + onPlanned + noCompany,
		},
		{
			name: "it may run on another node", only: true,
			cluster: withAgent(func(st *story) { onlyIn(st, "b"); volume(st); like(st) }),
			want:    "affinity: " + onPlanned + noCompany,
		},
		{
			name:    "it runs on no node",
			cluster: withAgent(func(st *story) { onlyIn(st, "c"); volume(st); like(st) }),
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// For a spread constraint, a possible DaemonSet pod counts in the domain of the pod that is checked. In other domains, only
// a certain DaemonSet pod counts.
func TestSpreadBesideDaemonSet(t *testing.T) {
	spread := func(st *story) { // web-1 and the DaemonSet's pods, over hosts
		for _, p := range st.web {
			p.Labels = nil
		}
		st.web[0].Labels = map[string]string{"app": "agent"}
		st.agent.Namespace = "default"
		spreadBy(st.web[0], host, func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = ofApp("agent") })
		st.web[0].Spec.NodeSelector = nil
	}
	for _, tt := range []spoiled{
		{name: "on every node", cluster: withAgent(spread)},
		{
			name: "possible on every node", only: true,
			cluster: withAgent(func(st *story) {
				spread(st)
				st.agent.Spec.Template.Spec.Volumes = []corev1.Volume{{
					Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}},
				}}
			}),
			want: "spread: " + onPlanned + `with it kubernetes.io/hostname "planned node 0 (default)" may hold 2 matching pods, the emptiest domain 0`,
		},
	} {
		t.Run(tt.name, tt.run)
	}
}
