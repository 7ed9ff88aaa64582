package verify

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	zone = corev1.LabelTopologyZone
	host = corev1.LabelHostname
)

// near returns a term that selects the pods of an app in the same domain of key.
func near(key, app string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: ofApp(app)}
}

// inTeam returns a term that selects the pods with the label app=there, in the same zone and in namespaces of the team.
func inTeam(team string) corev1.PodAffinityTerm {
	t := near(zone, "there")
	t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
	return t
}

// elsewhere moves the running pod there to the namespace other, which belongs to the team. The namespace of the other pods
// belongs to the team green.
func elsewhere(st *story, team string) {
	st.there.Namespace = "other"
	for name, team := range map[string]string{"other": team, "default": "green"} {
		st.around.Namespaces = append(st.around.Namespaces, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}},
		})
	}
}

func ofApp(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func anti(p *corev1.Pod, terms ...corev1.PodAffinityTerm) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: terms,
	}}
}

func with(p *corev1.Pod, terms ...corev1.PodAffinityTerm) {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: terms,
	}}
}

// social gives the pods web-1 to web-4 of a story the label app=web, and the running pod the label app=there. Then it calls
// more.
func social(more func(*story)) func(*story) {
	return func(st *story) {
		for _, p := range st.web {
			p.Labels = map[string]string{"app": "web", "rev": p.Name}
			p.Spec.NodeSelector = nil
		}
		st.there.Labels = map[string]string{"app": "there"}
		more(st)
	}
}

// The plan places web-1 and web-2 on one node in zone a, web-3 beside the running pod there in zone b, and web-4 on a claim
// that may be launched in zone a or b.
func TestAntiAffinity(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name:    "the other replica is on the same node",
			cluster: social(func(st *story) { anti(st.web[0], near(host, "web")) }),
			want:    `antiAffinity: planned node 0 (default), pod default/web-2: required anti-affinity of a pod that may be in kubernetes.io/hostname "planned node 0 (default)" excludes it`,
			only:    true,
		},
		{
			name:    "no selected pod is on the node",
			cluster: social(func(st *story) { anti(st.web[2], near(host, "web")) }),
		},
		{
			name:    "a selected pod runs in the zone",
			cluster: social(func(st *story) { anti(st.web[2], near(zone, "there")) }),
			want:    `antiAffinity: old, pod default/web-3: a pod that its required anti-affinity selects may be in topology.kubernetes.io/zone "b"`,
			only:    true,
		},
		{
			name:    "in another zone",
			cluster: social(func(st *story) { anti(st.web[0], near(zone, "there")) }),
		},
		{
			name:    "perhaps in the same zone",
			cluster: social(func(st *story) { anti(st.web[3], near(zone, "there")) }),
			want:    `antiAffinity: wish, pod default/web-4: a pod that its required anti-affinity selects may be in topology.kubernetes.io/zone "b"`,
			only:    true,
		},
		{
			name:    "excluded by a running pod",
			cluster: social(func(st *story) { anti(st.there, near(host, "web")) }),
			want:    `antiAffinity: old, pod default/web-3: required anti-affinity of a pod that may be in kubernetes.io/hostname "old" excludes it`,
			only:    true,
		},
		{
			name:    "a running pod that selects other pods",
			cluster: social(func(st *story) { anti(st.there, near(host, "db")) }),
		},
		{
			name: "another namespace",
			cluster: social(func(st *story) {
				other := near(zone, "there")
				other.Namespaces = []string{"other"}
				anti(st.web[2], other)
			}),
		},
		{
			name: "all namespaces", only: true,
			cluster: social(func(st *story) {
				st.there.Namespace = "other"
				all := near(zone, "there")
				all.NamespaceSelector = &metav1.LabelSelector{}
				anti(st.web[2], all)
			}),
			want: "antiAffinity: old, pod default/web-3",
		},
		{
			name: "namespaces by their labels", only: true,
			cluster: social(func(st *story) { elsewhere(st, "blue"); anti(st.web[2], inTeam("blue")) }),
			want:    "antiAffinity: old, pod default/web-3",
		},
		{
			name:    "not in namespaces with other labels",
			cluster: social(func(st *story) { elsewhere(st, "red"); anti(st.web[2], inTeam("blue")) }),
		},
		{
			name: "excluded by a running pod with a namespaceSelector", only: true,
			cluster: social(func(st *story) {
				elsewhere(st, "red")
				ours := inTeam("green")
				ours.LabelSelector, ours.TopologyKey = ofApp("web"), host
				anti(st.there, ours)
			}),
			want: `antiAffinity: old, pod default/web-3: required anti-affinity of a pod that may be in`,
		},
		{
			name: "only the same revision",
			cluster: social(func(st *story) {
				same := near(host, "web")
				same.MatchLabelKeys = []string{"rev"}
				anti(st.web[0], same)
			}),
		},
		{
			name: "only other revisions", only: true,
			cluster: social(func(st *story) {
				other := near(host, "web")
				other.MismatchLabelKeys = []string{"rev"}
				st.web[0].Labels["app"] = "none"
				anti(st.web[0], other)
			}),
			want: "antiAffinity: planned node 0 (default), pod default/web-2",
		},
		{
			name: "a selector that cannot be parsed selects no pod",
			cluster: social(func(st *story) {
				broken := near(host, "web")
				broken.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}
				anti(st.web[0], broken)
			}),
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestAffinity(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name:    "with a pod that runs there",
			cluster: social(func(st *story) { with(st.web[2], near(host, "there")) }),
		},
		{
			name:    "with a pod that runs elsewhere",
			cluster: social(func(st *story) { with(st.web[0], near(zone, "there")) }),
			want:    "affinity: planned node 0 (default), pod default/web-1: no pod that its required affinity selects is certain to be",
			only:    true,
		},
		{
			name: "the first-pod rule, and a second replica",
			cluster: social(func(st *story) {
				with(st.web[0], near(zone, "web"))
				with(st.web[1], near(zone, "web"))
				st.web[2].Labels, st.web[3].Labels = nil, nil
			}),
		},
		{
			name: "the first-pod rule in two zones", only: true,
			cluster: social(func(st *story) {
				with(st.web[0], near(zone, "web"))
				with(st.web[2], near(zone, "web"))
				st.web[1].Labels, st.web[3].Labels = nil, nil
			}),
			want: "affinity: planned node 0 (default), pod default/web-1: no pod that its required affinity selects is certain",
		},
		{
			name: "its affinity does not select itself", only: true,
			cluster: social(func(st *story) { with(st.web[0], near(zone, "db")) }),
			want:    "affinity: planned node 0 (default), pod default/web-1: no pod that its required affinity selects is certain",
		},
		{
			name: "with a planned pod without affinity",
			cluster: social(func(st *story) {
				st.web[1].Labels["app"] = "db"
				with(st.web[0], near(host, "db"))
			}),
		},
		{
			name: "a chain",
			cluster: social(func(st *story) {
				st.web[0].Labels["app"], st.web[1].Labels["app"] = "x", "y"
				st.huge.Labels = nil
				with(st.web[0], near(host, "y"))
				with(st.web[1], near(zone, "y"))
			}),
		},
		{
			name: "a zone that is not settled", only: true,
			cluster: social(func(st *story) { with(st.web[3], near(zone, "web")) }),
			want:    `affinity: wish, pod default/web-4: the value of topology.kubernetes.io/zone is not settled: any of ["a" "b"]`,
		},
		{
			name: "a node without the label", only: true,
			cluster: social(func(st *story) { with(st.web[2], near("rack", "there")) }),
			want:    "affinity: old, pod default/web-3: the node has no label rack",
		},
		{
			name: "no pod matches both of its terms", only: true,
			cluster: social(func(st *story) {
				st.web[1].Labels["app"] = "db"
				with(st.web[0], near(host, "web"), near(zone, "db"))
				st.web[0].Labels["app"] = "none"
			}),
			want: "affinity: planned node 0 (default), pod default/web-1: no pod that its required affinity selects is certain",
		},
		{
			name: "together wherever that is",
			cluster: social(func(st *story) {
				st.web[2].Labels["app"] = "db"
				with(st.web[3], near(zone, "db"))
			}),
			plan: func(p *model.Plan) {
				p.Placements[1].Pods = slices.Concat(p.Placements[1].Pods, p.Placements[0].Pods)
				p.Placements = p.Placements[1:]
			},
		},
		{
			name: "a planned pod whose zone is not settled does not count", only: true,
			cluster: social(func(st *story) {
				st.web[3].Labels["app"] = "db"
				with(st.web[0], near(zone, "db"))
			}),
			want: "affinity: planned node 0 (default), pod default/web-1: no pod that its required affinity selects is certain",
		},
		{
			name: "but it excludes the first-pod rule", only: true,
			cluster: social(func(st *story) {
				with(st.web[0], near(zone, "web"))
				st.web[1].Labels, st.web[2].Labels = nil, nil
			}),
			want: "affinity: planned node 0 (default), pod default/web-1: no pod that its required affinity selects is certain",
		},
		{
			name: "a pod that has ended does not count", only: true,
			cluster: social(func(st *story) { with(st.web[2], near(host, "there")); st.there.Status.Phase = corev1.PodFailed }),
			want:    "affinity: old, pod default/web-3: no pod that its required affinity selects is certain",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// spreadBy adds to p a spread constraint over key that selects the pods with app=web. If change is not nil, it modifies the
// constraint.
func spreadBy(p *corev1.Pod, key string, change func(*corev1.TopologySpreadConstraint)) {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: ofApp("web"),
	}
	if change != nil {
		change(&c)
	}
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
}

func TestSpread(t *testing.T) {
	// both spreads web-1 and web-2 over zones. Their constraint does not select web-4.
	both := func(change func(*corev1.TopologySpreadConstraint)) func(*story) {
		return social(func(st *story) {
			spreadBy(st.web[0], zone, change)
			spreadBy(st.web[1], zone, change)
			st.web[3].Labels = nil
		})
	}
	for _, tt := range []spoiled{
		{name: "two there, one here", cluster: both(nil)},
		{
			name:    "two there, none here",
			cluster: func(st *story) { both(nil)(st); st.web[2].Labels = nil },
			want:    `spread: planned node 0 (default), pod default/web-1: with it topology.kubernetes.io/zone "a" may hold 2 matching pods, the emptiest domain 0: maxSkew is 1`,
		},
		{
			name: "a larger skew",
			cluster: func(st *story) {
				both(func(c *corev1.TopologySpreadConstraint) { c.MaxSkew = 2 })(st)
				st.web[2].Labels = nil
			},
		},
		{
			name: "ScheduleAnyway",
			cluster: func(st *story) {
				both(func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway })(st)
				st.web[2].Labels = nil
			},
		},
		{
			name:    "too few domains",
			cluster: both(func(c *corev1.TopologySpreadConstraint) { three := int32(3); c.MinDomains = &three }),
			want:    `"a" may hold 2 matching pods, the emptiest domain 0`,
		},
		{
			name: "a domain that the pods cannot go to does not count",
			cluster: func(st *story) {
				both(nil)(st)
				st.web[2].Labels = nil
				st.web[0].Spec.NodeSelector = map[string]string{zone: "a"}
				st.web[1].Spec.NodeSelector = map[string]string{zone: "a"}
			},
		},
		{
			name: "unless the constraint says so",
			cluster: func(st *story) {
				both(func(c *corev1.TopologySpreadConstraint) {
					ignore := corev1.NodeInclusionPolicyIgnore
					c.NodeAffinityPolicy = &ignore
				})(st)
				st.web[2].Labels = nil
				st.web[0].Spec.NodeSelector = map[string]string{zone: "a"}
				st.web[1].Spec.NodeSelector = map[string]string{zone: "a"}
			},
			want: `spread: planned node 0 (default), pod default/web-1`,
		},
		{
			name: "a tainted domain counts",
			cluster: func(st *story) {
				both(nil)(st)
				st.web[2].Labels = nil
				st.web[2].Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				taint(st.old, "keep-out", corev1.TaintEffectNoSchedule)
			},
			want: `spread: planned node 0 (default), pod default/web-1`,
		},
		{
			name: "unless the constraint says so of taints",
			cluster: func(st *story) {
				both(func(c *corev1.TopologySpreadConstraint) {
					honor := corev1.NodeInclusionPolicyHonor
					c.NodeTaintsPolicy = &honor
				})(st)
				st.web[2].Labels = nil
				st.web[2].Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				taint(st.old, "keep-out", corev1.TaintEffectNoSchedule)
			},
		},
		{
			name: "selected pods without the constraint may be placed later",
			cluster: social(func(st *story) {
				spreadBy(st.web[0], zone, nil)
				st.web[2].Labels, st.web[3].Labels = nil, nil
			}),
		},
		{
			name: "running pods count", only: true,
			cluster: social(func(st *story) {
				spreadBy(st.web[2], zone, nil)
				st.there.Labels["app"] = "web"
				st.web[0].Labels, st.web[1].Labels, st.web[3].Labels = nil, nil, nil
			}),
			want: `spread: old, pod default/web-3: with it topology.kubernetes.io/zone "b" may hold 2 matching pods`,
		},
		{
			name: "hosts are domains",
			cluster: social(func(st *story) {
				spreadBy(st.web[0], host, nil)
				spreadBy(st.web[1], host, nil)
				st.web[2].Labels = nil
			}),
			want: `kubernetes.io/hostname "planned node 0 (default)" may hold 2 matching pods, the emptiest domain 0`,
		},
		{
			name: "each revision by itself",
			cluster: both(func(c *corev1.TopologySpreadConstraint) {
				c.MatchLabelKeys = []string{"rev"}
			}),
		},
		{
			name: "a node without the label", only: true,
			cluster: social(func(st *story) { spreadBy(st.web[3], "rack", nil) }),
			want:    `spread: wish, pod default/web-4: the node has no label rack`,
		},
		{
			name: "an unsettled zone counts as each of its values", only: true,
			cluster: social(func(st *story) {
				spreadBy(st.web[3], zone, nil)
				for _, p := range st.web[:3] {
					p.Labels = nil
				}
				st.there.Labels["app"] = "web"
			}),
			want: `spread: wish, pod default/web-4: with it topology.kubernetes.io/zone "b" may hold 2 matching pods`,
		},
		{
			name: "an unsettled zone of which every value will do",
			cluster: social(func(st *story) {
				spreadBy(st.web[3], zone, nil)
				for _, p := range st.web[:3] {
					p.Labels = nil
				}
			}),
		},
		{
			name: "an unsettled zone for a pod that its constraint does not select",
			cluster: social(func(st *story) {
				st.web[3].Labels["app"] = "other"
				st.web[0].Labels["app"] = "other"
				spreadBy(st.web[3], zone, nil)
			}),
		},
		{
			name: "one value of an unsettled zone will not do", only: true,
			cluster: social(func(st *story) {
				st.web[3].Labels["app"] = "other"
				spreadBy(st.web[3], zone, nil)
				st.web[0].Labels, st.web[1].Labels, st.web[2].Labels = nil, nil, nil
				st.there.Labels["app"] = "web"
				more := st.there.DeepCopy()
				more.Name = "more"
				st.around.Pods = append(st.around.Pods, more)
			}),
			want: `spread: wish, pod default/web-4: with it topology.kubernetes.io/zone "b" may hold 2 matching pods`,
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// A bound pod that the plan places elsewhere counts for topology rules on its planned node.
func TestRulesOfMovedPods(t *testing.T) {
	st := newStory()
	social(func(st *story) { anti(st.web[2], near(host, "there")) })(st)
	st.there.Spec.NodeName = "gone"
	s, p := st.told(t)
	there, _ := s.Pods.Get("default/there")
	p.Nodes[0].Pods = append([]*model.Pod{}, p.Nodes[0].Pods[0], p.Nodes[0].Pods[1], there)
	if found := Plan(s, p); len(found) != 1 || found[0].Rule != RuleResources {
		t.Errorf("found %q, want only that the claim asks for too little", found)
	}
}
