package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// configMap returns a ConfigMap in kube-system.
func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: data}
}

// published returns the ConfigMap in which a controller with the given flags publishes its settings.
func published(t *testing.T, values map[string]string) *corev1.ConfigMap {
	t.Helper()
	s, warnings, err := settings.Restore(values)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return configMap(decisions.MapName, map[string]string{decisions.SettingsKey: s.Published()})
}

// deployment returns the Deployment of a controller in the namespace karpenter.
func deployment(args []string, env ...corev1.EnvVar) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "karpenter", Name: "karpenter", Labels: map[string]string{"app.kubernetes.io/name": "karpenter"},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "proxy", Args: []string{"--enforcement-mode=Approve"}}, {Name: "controller", Args: args, Env: env},
	}
	return d
}

// The settings of the controller are those that it publishes. Without them they are those of its Deployment, and without that
// they are the defaults. Where they come from is told. The ConfigMap of pauses takes precedence over the flags.
func TestSettingsOfTheController(t *testing.T) {
	fromElsewhere := corev1.EnvVar{Name: "PREFERENCE_POLICY", ValueFrom: &corev1.EnvVarSource{}}
	for _, tt := range []struct {
		name     string
		objects  []client.Object
		source   string
		mode     string
		gates    settings.FeatureGates
		limits   throttle.Limits
		warnings []string
	}{
		{"published", []client.Object{
			published(t, map[string]string{"enforcement-mode": "DryRun", "feature-gates": "StaticCapacity=true", "max-launches-per-minute": "5"}),
			deployment([]string{"--enforcement-mode=Approve"}),
		}, "ConfigMap kube-system/karpenter-decisions", "DryRun", settings.FeatureGates{ReservedCapacity: true, StaticCapacity: true},
			throttle.Limits{MaxLaunches: 5}, nil},
		{"paused", []client.Object{published(t, nil), configMap(throttle.MapName, map[string]string{"pause-disruption": "true"})},
			"ConfigMap kube-system/karpenter-decisions", "Auto", settings.FeatureGates{ReservedCapacity: true}, throttle.Limits{PauseDisruption: true}, nil},
		{"an older controller publishes decisions only", []client.Object{
			configMap(decisions.MapName, map[string]string{decisions.MapKey: ""}),
			deployment([]string{"--pause-launches", "true", "--log-level=debug"}, corev1.EnvVar{Name: "ENFORCEMENT_MODE", Value: "Approve"},
				corev1.EnvVar{Name: "PAUSE_LAUNCHES", Value: "false"}, corev1.EnvVar{Name: "FEATURE_GATES", Value: "NodeRepair=true"}, fromElsewhere),
		}, "Deployment karpenter/karpenter", "Approve", settings.FeatureGates{ReservedCapacity: true, NodeRepair: true},
			throttle.Limits{PauseLaunches: true}, []string{
				"Deployment karpenter/karpenter takes PREFERENCE_POLICY from elsewhere, using the defaults instead",
				"the controller publishes no settings, using those of Deployment karpenter/karpenter",
			}},
		{"no controller", nil, "", "Auto", settings.FeatureGates{ReservedCapacity: true}, throttle.Limits{},
			[]string{"the settings of the controller are not known, using the defaults: no ConfigMap karpenter-decisions and no Deployment with the " +
				"label app.kubernetes.io/name=karpenter found (--settings gives them, --settings=default hides this)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scheme, err := live.Scheme()
			if err != nil {
				t.Fatal(err)
			}
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tt.objects...).
				WithIndex(&corev1.ConfigMap{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).Build()
			c, warnings := controllerOf(t.Context(), kube, "")
			if c.source != tt.source || c.settings.Mode != tt.mode || c.gates() != tt.gates || c.limits != tt.limits || !slices.Equal(warnings, tt.warnings) {
				t.Errorf("source %q, mode %s, gates %+v, limits %+v, warnings %q", c.source, c.settings.Mode, c.gates(), c.limits, warnings)
			}
		})
	}
}

// Flags of the command take precedence over the settings of the controller. Settings that are not given are the controller's.
func TestFlagsBeforeSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	text := "new-node-headroom: 0.1\nnode-overhead-cost: 0.5\nfeature-gates: SpotToSpotConsolidation=true\npause-disruption: true\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var s solver
	cmd := &cobra.Command{}
	s.addFlags(cmd)
	if err := errors.Join(cmd.ParseFlags([]string{"--settings", file, "--new-node-headroom", "0.2"}), s.check()); err != nil {
		t.Fatal(err)
	}
	if warnings := s.meetLive(t.Context(), nil); len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	if o := s.options(); o.Slack != 0.2 || o.NodeOverheadCost != 0.5 {
		t.Errorf("options of the packer: headroom %g, overhead cost %g", o.Slack, o.NodeOverheadCost)
	}
	if d := s.controller.disruption(false); !d.SpotToSpot || !d.Paused || d.Static {
		t.Errorf("options of disruption: %+v", d)
	}
	if err := os.WriteFile(file, []byte("enforcement-mode: 1\nmax-node-cpu: many\nno-flag: 1\nnew-node-headroom: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.check()
	for _, want := range []string{
		"--settings: " + file, `--enforcement-mode (ENFORCEMENT_MODE): "1" is unknown: use Auto, DryRun, Approve`, "--max-node-cpu", "--no-flag is not known",
		"--new-node-headroom (NEW_NODE_HEADROOM): 5 is out of range 0 to 0.5",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "default") {
		t.Errorf("the command ends, but the error mentions defaults: %v", err)
	}
}

// Numbers in the file of the settings keep all digits. A null selects the default.
func TestNumbersInSettingsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(file, []byte("max-launches-per-minute: 1000000\nnode-overhead-cost: 0.25\nenforcement-mode:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := controllerFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.limits.MaxLaunches != 1_000_000 || c.settings.NodeOverheadCost != 0.25 || c.settings.Mode != settings.ModeAuto {
		t.Errorf("limits %+v, settings %+v", c.limits, c.settings)
	}
}

// DaemonSets of a cluster whose pods have ResourceClaims count only if the controller counts them.
func TestDynamicResourcesOfCluster(t *testing.T) {
	scheme, err := live.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	plain := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "plain"}}
	claiming := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "claiming"}}
	claiming.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(plain, claiming).Build()
	for value, want := range map[string]int{"true": 1, "false": 2} {
		found, err := live.Read(t.Context(), kube, clocktesting.NewFakeClock(time.Unix(0, 0)))
		if err != nil {
			t.Fatal(err)
		}
		var s solver
		s.controller, _ = restored(map[string]string{"ignore-dra-requests": value}, "test")
		s.dropIgnored(found)
		if got := len(found.Snapshot.Daemons()); got != want {
			t.Errorf("with --ignore-dra-requests=%s %d DaemonSets count, want %d", value, got, want)
		}
	}
}

// With several providers, each has its repair policies for the nodes of its node classes. Those of remote providers are not known.
func TestRepairOfSeveralProviders(t *testing.T) {
	node := func(label string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: "default"}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		return n
	}
	const onAWS, onKWOK = "karpenter.k8s.aws/ec2nodeclass", "karpenter.kwok.sh/kwoknodeclass"
	for _, tt := range []struct {
		provider           string
		aws, kwok, another bool
	}{
		{"aws", true, true, true}, // all nodes of the cluster are of this provider
		{"aws,kwok", true, true, false},
		{"aws,remote", true, false, false},
		{"remote", false, false, false},
	} {
		c, warnings := restored(map[string]string{"provider": tt.provider, "feature-gates": "NodeRepair=true"}, "test")
		if len(warnings) > 0 {
			t.Fatal(warnings)
		}
		policies := c.repair()
		for label, want := range map[string]bool{onAWS: tt.aws, onKWOK: tt.kwok, "example.com/class": tt.another} {
			if got := len(policies.Matches(node(label), nil)) > 0; got != want {
				t.Errorf("provider %s: a policy matches a node with the label %s: %t, want %t", tt.provider, label, got, want)
			}
		}
	}
}
