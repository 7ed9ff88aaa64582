package chart

import (
	"slices"
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

// A value that is null has its default, and so has a group of values. Terraform passes null for variables that are not set.
func TestNullIsTheDefault(t *testing.T) {
	rendered := func(t *testing.T, path ...string) string {
		t.Helper()
		v := map[string]any{}
		set(v, []string{"settings", "clusterName"}, "demo")
		if len(path) > 0 {
			set(v, path, nil)
		}
		files, err := Render(load(t, "karpenter"), release(v))
		if err != nil {
			t.Fatal(err)
		}
		return Join(files)
	}
	want := rendered(t)
	var check func(value any, path ...string)
	check = func(value any, path ...string) {
		if name := strings.Join(path, "."); name != "settings" && name != "settings.clusterName" {
			t.Run(name, func(t *testing.T) {
				if diff := cmp.Diff(want, rendered(t, path...)); diff != "" {
					t.Errorf("rendered otherwise (-without the value +with null):\n%s", diff)
				}
			})
		}
		if group, ok := value.(map[string]any); ok {
			for key, value := range group {
				check(value, append(slices.Clone(path), key)...)
			}
		}
	}
	for _, group := range []string{"settings", "extraPermissions", "serviceAccount"} {
		check(load(t, "karpenter").Values[group], group)
	}
}

// Numbers are rendered with all digits. The flags accept no exponent.
func TestLargeNumbers(t *testing.T) {
	environment := variables(t, map[string]any{"settings": map[string]any{
		"clusterName": "demo", "maxLaunchesPerMinute": 1e6, "maxDisruptionsPerMinute": 2e6, "maxReplacementsPerMinute": 12345678.0,
		"metricsDetailMaxNodes": 1e6, "maxNodeCPU": 1e6, "reservedENIs": 1e6, "vmMemoryOverheadPercent": 0.05, "nodeOverheadCost": 0.25,
		"newNodeHeadroom": 0.125,
	}})
	for name, want := range map[string]string{
		"MAX_LAUNCHES_PER_MINUTE": "1000000", "MAX_DISRUPTIONS_PER_MINUTE": "2000000", "MAX_REPLACEMENTS_PER_MINUTE": "12345678",
		"METRICS_DETAIL_MAX_NODES": "1000000", "MAX_NODE_CPU": "1000000", "RESERVED_ENIS": "1000000", "VM_MEMORY_OVERHEAD_PERCENT": "0.05",
		"NODE_OVERHEAD_COST": "0.25", "NEW_NODE_HEADROOM": "0.125",
	} {
		if got := environment[name].Value; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
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
