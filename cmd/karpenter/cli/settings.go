package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/multiplex"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/kwok"
)

// defaultSettings is the value of --settings that selects the defaults of all flags.
const defaultSettings = "default"

// A controllerState is what is known of the controller whose decisions a command computes.
type controllerState struct {
	settings *settings.Settings
	// source is where the settings were found. If it is empty, they are the defaults.
	source string
	// limits are the pauses and rate limits now.
	limits throttle.Limits
	// unavailable are the offerings that the controller could not launch when it last wrote them.
	unavailable decisions.Unavailable
}

// withUnavailable returns the types, which are by NodePool, and marks the offerings that the controller cannot launch
// as unavailable.
func (c *controllerState) withUnavailable(types map[string][]*model.InstanceType) map[string][]*model.InstanceType {
	if c == nil {
		return types
	}
	return c.unavailable.Apply(types)
}

// readUnavailable reads the unavailable offerings in the ConfigMap of decisions.
func (c *controllerState) readUnavailable(m *corev1.ConfigMap) (warnings []string) {
	u, err := decisions.DecodeUnavailable(m.Data[decisions.UnavailableKey])
	if err != nil {
		return []string{"ConfigMap " + m.Namespace + "/" + m.Name + ": " + err.Error() + "; counting all offerings as available"}
	}
	c.unavailable = u
	return nil
}

// known reports whether the settings were found. Otherwise they are the defaults, and features whose objects exist count
// as on.
func (c *controllerState) known() bool { return c != nil && c.source != "" }

// gates returns the feature gates, the defaults if c is nil.
func (c *controllerState) gates() settings.FeatureGates {
	if c == nil {
		return settings.DefaultFeatureGates()
	}
	return c.settings.FeatureGates
}

// restored returns the state for the values of flags, by name of the flag. For an invalid value it returns a warning, and
// the defaults are used. source is where the values were found.
func restored(values map[string]string, source string) (c *controllerState, warnings []string) {
	s, unknown, err := settings.Restore(values)
	for _, name := range unknown {
		warnings = append(warnings, "setting "+name+" is not known to this version of the command and is ignored")
	}
	if err != nil {
		warnings = append(warnings, "settings of the controller, "+source+": "+strings.ReplaceAll(err.Error(), "\n", "; ")+"; using the defaults instead")
	}
	return &controllerState{settings: s, source: source, limits: operator.Limits(s)}, warnings
}

// throttled applies the data of the ConfigMap of pauses and rate limits.
func (c *controllerState) throttled(data map[string]string) (warnings []string) {
	next, err := c.limits.With(data)
	c.limits = next
	if err != nil {
		warnings = append(warnings, "ConfigMap "+throttle.MapName+": "+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return warnings
}

// notes are sentences about what the controller does not do now. They use the texts of its events.
func (c *controllerState) notes() []string {
	if c == nil {
		return nil
	}
	var out []string
	l := c.limits
	if l.PauseLaunches {
		out = append(out, "launches are paused ("+throttle.KeyPauseLaunches+"): the controller launches no node now")
	}
	if l.PauseDisruption {
		out = append(out, "disruption is paused ("+throttle.KeyPauseDisruption+"): the controller removes no node voluntarily now")
	}
	for _, bound := range []struct {
		most      int
		what, key string
	}{
		{l.MaxLaunches, "launched", throttle.KeyMaxLaunches},
		{l.MaxReplacements, "launched as replacements", throttle.KeyMaxReplacements},
		{l.MaxDisruptions, "disrupted voluntarily", throttle.KeyMaxDisruptions},
	} {
		if bound.most > 0 {
			out = append(out, fmt.Sprintf("at most %d nodes are %s per minute (%s)", bound.most, bound.what, bound.key))
		}
	}
	return out
}

// shown returns the state as a part of JSON output, nil if nothing is known.
func (c *controllerState) shown() *offline.Controller {
	if !c.known() {
		return nil
	}
	notes := c.notes()
	if notes == nil {
		notes = []string{}
	}
	return &offline.Controller{
		Settings: c.source, LaunchesPaused: c.limits.PauseLaunches, DisruptionPaused: c.limits.PauseDisruption, Notes: notes,
	}
}

// disruption returns the options of disruption, without those of the packer. simulate is true for manifests.
func (c *controllerState) disruption(simulate bool) disrupt.Options {
	if c == nil {
		return disrupt.Options{Simulate: simulate}
	}
	o := operator.DisruptOptions(c.settings)
	o.Simulate, o.Paused, o.MaxNodes = simulate, c.limits.PauseDisruption, c.limits.MaxDisruptions
	o.Repair = c.repair()
	return o
}

// repair returns the policies of node repair, nil if the gate is off or the policies of no provider are known. Those of remote
// providers are not. Of several providers, each has policies for the nodes of its node classes only.
func (c *controllerState) repair() *repair.Policies {
	all := c.settings.Providers()
	var known []cloud.Facts
	for _, name := range all {
		if facts, ok := factsOf(name); ok {
			known = append(known, facts)
		}
	}
	if len(known) == 0 {
		return nil
	}
	facts := known[0]
	if len(all) > 1 {
		facts.RepairPolicies, facts.LegacyRepairPolicies = multiplex.RepairPolicies(known...)
	}
	policies, err := operator.RepairPolicies(c.settings, facts)
	if err != nil {
		return nil // cannot happen for the policies of this program
	}
	return policies
}

// factsOf returns the facts of a provider of this program by its name.
func factsOf(provider string) (facts cloud.Facts, ok bool) {
	switch provider {
	case settings.ProviderAWS:
		return aws.Facts(), true
	case settings.ProviderKWOK:
		return kwok.Facts(), true
	case settings.ProviderClusterAPI:
		return clusterapi.Facts(), true
	}
	return cloud.Facts{}, false
}

// controllerOf returns what is known of the controller of a cluster. namespace is its namespace; if it is empty, the usual
// namespaces are searched, then all. It never fails: what cannot be read is a warning.
func controllerOf(ctx context.Context, r client.Reader, namespace string) (*controllerState, []string) {
	m, err := live.DecisionsMap(ctx, r, namespace)
	if err == nil && m.Data[decisions.SettingsKey] != "" {
		if values, err := settings.DecodePublished(m.Data[decisions.SettingsKey]); err == nil {
			c, warnings := restored(values, "ConfigMap "+m.Namespace+"/"+m.Name)
			warnings = append(warnings, c.readUnavailable(m)...)
			return c, append(warnings, c.readThrottle(ctx, r, m.Namespace)...)
		}
	}
	d, problem := deploymentOf(ctx, r, namespace)
	if d == nil {
		c, _ := restored(nil, "")
		return c, []string{"the settings of the controller are not known, using the defaults: " + problem +
			" (--settings gives them, --settings=" + defaultSettings + " hides this)"}
	}
	c, warnings := ofDeployment(d)
	warnings = append(warnings, "the controller publishes no settings, using those of "+c.source)
	return c, append(warnings, c.readThrottle(ctx, r, d.Namespace)...)
}

// readThrottle applies the ConfigMap of pauses and rate limits in the namespace of the controller.
func (c *controllerState) readThrottle(ctx context.Context, r client.Reader, namespace string) (warnings []string) {
	var m corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: throttle.MapName}, &m)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return []string{"pauses and rate limits are not known: " + err.Error()}
	}
	return c.throttled(m.Data)
}

// deploymentOf returns the Deployment of the controller, by its label; of several, the first by namespace and name.
// Without one it returns nil and the reason.
func deploymentOf(ctx context.Context, r client.Reader, namespace string) (found *appsv1.Deployment, problem string) {
	var list appsv1.DeploymentList
	opts := []client.ListOption{client.MatchingLabels{"app.kubernetes.io/name": "karpenter"}}
	if namespace != "" {
		opts = append(opts, client.InNamespace(namespace))
	}
	if err := r.List(ctx, &list, opts...); err != nil {
		return nil, "no ConfigMap " + decisions.MapName + " has them, and Deployments cannot be listed: " + err.Error()
	}
	if len(list.Items) == 0 {
		return nil, "no ConfigMap " + decisions.MapName + " and no Deployment with the label app.kubernetes.io/name=karpenter found"
	}
	slices.SortFunc(list.Items, func(a, b appsv1.Deployment) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return &list.Items[0], ""
}

// ofDeployment returns the state that the arguments and the environment of a Deployment give.
func ofDeployment(d *appsv1.Deployment) (*controllerState, []string) {
	containers := d.Spec.Template.Spec.Containers
	i := max(slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "controller" }), 0)
	source := "Deployment " + d.Namespace + "/" + d.Name
	if len(containers) == 0 {
		return restored(nil, source)
	}
	c := containers[i]
	values, unknown := settings.OfContainer(slices.Concat(c.Command, c.Args), func(name string) (string, bool, bool) {
		at := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
		if at < 0 {
			return "", false, true
		}
		return c.Env[at].Value, true, c.Env[at].ValueFrom == nil
	})
	state, warnings := restored(values, source)
	if len(unknown) > 0 {
		warnings = append(warnings, source+" takes "+strings.Join(unknown, ", ")+" from elsewhere, using the defaults instead")
	}
	if len(c.EnvFrom) > 0 {
		warnings = append(warnings, source+" takes variables from elsewhere (envFrom), which are not known")
	}
	return state, warnings
}

// controllerIn returns the state that captured ConfigMaps in manifests give, with its source empty if there are none.
func controllerIn(set *manifest.Set) (*controllerState, []string) {
	c, _ := restored(nil, "")
	var warnings []string
	for _, m := range manifest.Of[*corev1.ConfigMap](set) {
		if text := m.Data[decisions.SettingsKey]; m.Name == decisions.MapName && text != "" {
			values, err := settings.DecodePublished(text)
			if err != nil {
				return c, []string{"ConfigMap " + m.Name + ": " + err.Error() + "; using the defaults"}
			}
			c, warnings = restored(values, "ConfigMap "+m.Namespace+"/"+m.Name+" of the manifests")
			warnings = append(warnings, c.readUnavailable(m)...)
		}
	}
	for _, m := range manifest.Of[*corev1.ConfigMap](set) {
		if m.Name == throttle.MapName {
			warnings = append(warnings, c.throttled(m.Data)...)
		}
	}
	return c, warnings
}

// controllerFile reads a file with the values of flags by name, as YAML: such as the output of
//
//	kubectl get configmap karpenter-decisions -n kube-system -o jsonpath={.data.settings}
func controllerFile(name string) (*controllerState, error) {
	if name == defaultSettings {
		c, _ := restored(nil, "")
		return c, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read --settings: %w", err)
	}
	values := map[string]any{}
	digits := func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d } // 1000000 stays that, not 1e+06
	if err := yaml.UnmarshalStrict(data, &values, digits); err != nil {
		return nil, fmt.Errorf("--settings: %s: decode: %w", name, err)
	}
	texts := make(map[string]string, len(values))
	for key, v := range values {
		if v != nil { // null selects the default
			texts[strings.TrimPrefix(key, "--")] = fmt.Sprint(v)
		}
	}
	s, unknown, err := settings.Restore(texts)
	for _, flag := range unknown {
		err = errors.Join(err, fmt.Errorf("--%s is not known to this version of the command", flag))
	}
	if err != nil {
		return nil, fmt.Errorf("--settings: %s: %s", name, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return &controllerState{settings: s, source: name, limits: operator.Limits(s)}, nil
}
