package chart

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Terraform, Argo CD and helm --set-string pass each value as text. "false" and "2" as text have the same effect as false and 2, for all
// values that the chart has a default for.
func TestValuesAsText(t *testing.T) {
	defaults := load(t, "karpenter").Values
	everyDefault := normal(t, defaults).(map[string]any)
	set(everyDefault, []string{"settings", "clusterName"}, "demo")
	all := map[string]map[string]any{"every default": everyDefault}
	for _, name := range []string{"minimal", "eks", "everything"} {
		all[name] = values(t, name)
	}
	for name, v := range all {
		t.Run(name, func(t *testing.T) {
			want, err := Render(load(t, "karpenter"), release(normal(t, v).(map[string]any)))
			if err != nil {
				t.Fatal(err)
			}
			quoted := normal(t, v).(map[string]any)
			if n := quote(quoted, defaults); n == 0 && name != "minimal" {
				t.Fatal("no value is quoted")
			}
			got, err := Render(load(t, "karpenter"), release(quoted))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rendered otherwise as text (-values +text):\n%s", diff)
			}
		})
	}
}

// quote replaces booleans and numbers by texts, and returns how many. It leaves out values without a default, which the chart copies.
func quote(v, defaults map[string]any) (n int) {
	for key, value := range v {
		fallback, known := defaults[key]
		switch value := value.(type) {
		case map[string]any:
			if inner, ok := fallback.(map[string]any); ok {
				n += quote(value, inner)
			}
		case bool:
			if known {
				v[key] = strconv.FormatBool(value)
				n++
			}
		case float64:
			if known {
				v[key] = strconv.FormatFloat(value, 'f', -1, 64)
				n++
			}
		}
	}
	return n
}

// Values without a default are read as text too, and texts of another form are refused.
func TestTextsOfValues(t *testing.T) {
	for set, want := range map[string]string{
		`{terminationGracePeriodSeconds: "30"}`:                             "terminationGracePeriodSeconds: 30",
		`{serviceMonitor: {enabled: "true", sampleLimit: "100"}}`:           "sampleLimit: 100",
		`{podDisruptionBudget: {maxUnavailable: "50%"}}`:                    "maxUnavailable: 50%",
		`{settings: {ignoreDRARequests: "false"}}`:                          "IGNORE_DRA_REQUESTS\n              value: \"false\"",
		`{settings: {awsFeatureGates: {draEFA: "true"}}}`:                   "DRAEFA=true",
		`{settings: {featureGates: {capacityBuffer: "true"}}}`:              `resources: ["podtemplates", "resourcequotas"]`,
		`{settings: {newNodeHeadroom: "0.25"}}`:                             "NEW_NODE_HEADROOM\n              value: \"0.25\"",
		`{replicas: "two"}`:                                                 "",
		`{replicas: "-1"}`:                                                  "",
		`{controller: {metrics: {port: "0"}}}`:                              "",
		`{controller: {metrics: {port: "65535"}}}`:                          "containerPort: 65535",
		`{controller: {metrics: {port: "65536"}}}`:                          "",
		`{controller: {healthProbe: {port: "70000"}}}`:                      "",
		`{controller: {dashboard: {enabled: "true", port: "9999"}}}`:        "containerPort: 9999",
		`{controller: {dashboard: {port: "99999"}}}`:                        "",
		`{settings: {newNodeHeadroom: ".50"}}`:                              "NEW_NODE_HEADROOM\n              value: \".50\"",
		`{settings: {newNodeHeadroom: "0.51"}}`:                             "",
		`{settings: {newNodeHeadroom: "1"}}`:                                "",
		`{settings: {maxNodeCPU: "-1"}}`:                                    "",
		`{hostNetwork: "yes"}`:                                              "",
		`{settings: {isolatedVPC: "False"}}`:                                "",
		`{settings: {featureGates: {nodeRepair: "NodeRepair=true,x=yes"}}}`: "",
	} {
		t.Run(set, func(t *testing.T) {
			v := map[string]any{}
			if err := yaml.Unmarshal([]byte(set), &v); err != nil {
				t.Fatal(err)
			}
			if _, ok := v["settings"]; !ok {
				v["settings"] = map[string]any{}
			}
			v["settings"].(map[string]any)["clusterName"] = "demo"
			files, err := Render(load(t, "karpenter"), release(v))
			if (err != nil) != (want == "") {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(Join(files), want) {
				t.Errorf("rendered without %s", want)
			}
		})
	}
}

// The notes speak of AWS and of a cluster's name only if the provider is AWS.
func TestNotes(t *testing.T) {
	const cluster, queue, role = "for the cluster", "settings.interruptionQueue is not set", "eks.amazonaws.com/role-arn"
	for name, tt := range map[string]struct {
		settings map[string]any
		want     bool
	}{
		"aws":        {map[string]any{"clusterName": "demo"}, true},
		"aws, kwok":  {map[string]any{"clusterName": "demo", "provider": "aws,kwok"}, true},
		"kwok":       {map[string]any{"provider": "kwok"}, false},
		"clusterapi": {map[string]any{"provider": "clusterapi"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Render(load(t, "karpenter"), release(map[string]any{"settings": tt.settings}))
			if err != nil {
				t.Fatal(err)
			}
			notes := files["karpenter/templates/NOTES.txt"]
			for _, text := range []string{cluster, queue, role} {
				if strings.Contains(notes, text) != tt.want {
					t.Errorf("notes mention %q: %v, want %v\n%s", text, !tt.want, tt.want, notes)
				}
			}
			if !strings.Contains(notes, "runs as kube-system/karpenter") {
				t.Errorf("notes begin otherwise:\n%s", notes)
			}
		})
	}
}
