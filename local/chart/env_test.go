package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A variable of controller.env replaces that of the chart: a second entry with the same name would be refused by server-side apply.
func TestVariablesReplaceThoseOfTheChart(t *testing.T) {
	own := map[string]string{
		"FEATURE_GATES": "NodeRepair=true", "IGNORE_DRA_REQUESTS": "false", "SCHEDULER_CONFIG": "podTopologySpread: {}", "KUBERNETES_MIN_VERSION": "1.30.0-0",
		"LOG_LEVEL": "debug", "CPU_REQUESTS": "500", "OTHER": "value",
	}
	v := map[string]any{"settings": map[string]any{"clusterName": "demo", "schedulerConfig": "a: b\n- name: c"}}
	before := variables(t, v)
	var env []any
	for name, value := range own {
		env = append(env, map[string]any{"name": name, "value": value})
	}
	v["controller"] = map[string]any{"env": env}
	after := variables(t, v)
	if len(after) != len(before)+1 {
		t.Errorf("%d variables, want %d and OTHER", len(after), len(before))
	}
	for name, value := range own {
		if after[name].Value != value || after[name].ValueFrom != nil {
			t.Errorf("%s is %v, want %q", name, after[name], value)
		}
		delete(before, name)
		delete(after, name)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("other variables differ:\n%s", diff)
	}
}

// Settings may contain templates. The Role names the same lease as the variable.
func TestSettingsAreTemplates(t *testing.T) {
	v := map[string]any{"settings": map[string]any{
		"clusterName": "demo", "leaderElectionName": "{{ .Release.Name }}-lease", "decisionLog": "/log/{{ .Release.Name }}",
		"costAllocationLabel": "{{ .Release.Name }}/team", "maxNodeCPU": "{{ 32 }}",
	}}
	environment := variables(t, v)
	for name, want := range map[string]string{
		"LEADER_ELECTION_NAME": "karpenter-lease", "DECISION_LOG": "/log/karpenter", "COST_ALLOCATION_LABEL": "karpenter/team", "MAX_NODE_CPU": "32",
	} {
		if got := environment[name].Value; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	files, err := Render(load(t, "karpenter"), release(v))
	if err != nil {
		t.Fatal(err)
	}
	if role := files["karpenter/templates/role.yaml"]; !strings.Contains(role, `resourceNames: ["karpenter-lease"]`) {
		t.Errorf("the Role names another lease:\n%s", role)
	}
}

// variables returns the environment of the controller by name. No name may occur twice.
func variables(t *testing.T, v map[string]any) map[string]corev1.EnvVar {
	t.Helper()
	files, err := Render(load(t, "karpenter"), release(v))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.Unmarshal([]byte(files["karpenter/templates/deployment.yaml"]), &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]corev1.EnvVar{}
	for _, variable := range d.Spec.Template.Spec.Containers[0].Env {
		if _, twice := all[variable.Name]; twice {
			t.Errorf("%s occurs twice", variable.Name)
		}
		all[variable.Name] = variable
	}
	return all
}
