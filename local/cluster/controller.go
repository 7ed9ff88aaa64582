package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/chart"
	"github.com/karpenter-go/karpenter/local/objects"
	"github.com/karpenter-go/karpenter/local/rights"
	"github.com/karpenter-go/karpenter/local/state"
)

const (
	// Namespace is the namespace of the controller.
	Namespace = metav1.NamespaceSystem
	// ControllerName is the name of the controller as a part, and of its release.
	ControllerName = "karpenter"
	// tokenSeconds is the validity of the controller's token: a year, longer than a local cluster exists.
	tokenSeconds = 365 * 24 * 60 * 60
)

// startController creates the rights of the controller and starts the controller. The rights are created even without a
// controller, so that a user can run another build with the same kubeconfig. If there is neither a chart nor a controller,
// it does nothing.
func (c *Cluster) startController(ctx context.Context, k keys) error {
	_, err := os.Stat(filepath.Join(c.options.Chart, "Chart.yaml"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.options.Controller == "":
		c.step("no chart at %q, so no rights for a controller", c.options.Chart)
		return nil
	case err != nil:
		return fmt.Errorf("find chart: %w", err)
	}
	if err := c.grant(ctx, k); err != nil {
		return err
	}
	if c.options.Controller == "" {
		return nil
	}
	if c.serves() {
		if err := c.startAll(ctx, []spec{c.provider(c.state)}); err != nil {
			return err
		}
	}
	part := c.controller(c.state)
	env, err := c.chartEnvironment()
	if err != nil {
		return err
	}
	part.env = append(env, part.env...) // the last value of a variable is used
	return c.startAll(ctx, []spec{part})
}

// grant applies the rights of the chart and nothing else of it, and writes a kubeconfig with these rights.
func (c *Cluster) grant(ctx context.Context, k keys) error {
	granted, err := rights.Render(c.options.Chart, c.release())
	if err != nil {
		return err
	}
	account, err := rights.ServiceAccount(granted)
	if err != nil {
		return err
	}
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	applier, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for _, object := range granted {
		if err := objects.Apply(ctx, applier, object); err != nil {
			return err
		}
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	seconds := int64(tokenSeconds)
	token, err := typed.CoreV1().ServiceAccounts(account.GetNamespace()).CreateToken(ctx, account.GetName(),
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("issue token of %s: %w", account.GetName(), err)
	}
	err = c.writeKubeconfig(c.dir.ControllerKubeconfig(), k.authority.Bundle(), account.GetName(),
		&clientcmdapi.AuthInfo{Token: token.Status.Token})
	if err != nil {
		return err
	}
	c.step("service account %s has the rights of the chart", account.GetName())
	return nil
}

// gateValues returns the values of the chart for feature gates in the format of the flag --feature-gates. The chart
// grants some permissions only with the gate that needs them. Entries that do not have the form Gate=true or
// Gate=false are omitted; the controller reports them.
func gateValues(flag string) map[string]any {
	values := map[string]any{}
	for _, gate := range strings.Split(flag, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(gate), "=")
		if on, err := strconv.ParseBool(text); err == nil && name != "" {
			values[strings.ToLower(name[:1])+name[1:]] = on
		}
	}
	return values
}

// release returns the Helm release that corresponds to the controller.
func (c *Cluster) release() chart.Release {
	provider := c.state.Settings.Provider
	if c.serves() {
		provider += "," + c.state.Settings.Remote // both processes use the same service account
	}
	classes, _ := nodeClassValues(c.state.Settings.NodeClasses) // check has returned the error
	values := map[string]any{"settings": map[string]any{
		"provider": provider, "clusterName": Name, "clusterEndpoint": c.Endpoint(), "providerAddress": c.providerAddress(),
		"providerNodeClasses": classes, "managementKubeconfig": c.options.Management,
		"featureGates": gateValues(c.state.Settings.FeatureGates),
	}, "controller": map[string]any{"dashboard": map[string]any{"enabled": c.HasDashboard()}}}
	return chart.Release{
		Name: ControllerName, Namespace: Namespace, Kubernetes: kubernetesVersion,
		Values: util.CoalesceTables(values, runtime.DeepCopyJSON(c.options.Values)),
	}
}

// chartEnvironment returns the environment of the controller that the chart renders with Options.Values. It is empty
// if there are no values.
func (c *Cluster) chartEnvironment() ([]string, error) {
	if c.options.Values == nil {
		return nil, nil
	}
	loaded, err := loader.LoadDir(c.options.Chart)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	files, err := chart.Render(loaded, c.release())
	if err != nil {
		return nil, err
	}
	return chart.Environment(files)
}

// controller returns the spec of the controller.
func (c *Cluster) controller(s *state.State) spec {
	dashboard := 0
	if c.HasDashboard() {
		dashboard = s.Ports["karpenter-dashboard"]
	}
	env := []string{
		"KUBECONFIG=" + c.dir.ControllerKubeconfig(),
		"SYSTEM_NAMESPACE=" + Namespace,
		"LEADER_ELECTION_NAMESPACE=" + Namespace,
		"HEALTH_PROBE_PORT=" + strconv.Itoa(s.Ports["karpenter-health"]),
		"METRICS_PORT=" + strconv.Itoa(s.Ports["karpenter-metrics"]),
		"DASHBOARD_PORT=" + strconv.Itoa(dashboard),
	}
	if s.Settings.FeatureGates != "" {
		env = append(env, "FEATURE_GATES="+s.Settings.FeatureGates)
	}
	if c.options.Management != "" {
		env = append(env, "MANAGEMENT_KUBECONFIG="+c.options.Management)
	}
	args := []string{"controller", "--provider=" + s.Settings.Provider}
	if address := c.providerAddress(); address != "" {
		args = append(args, "--provider-address="+address)
	}
	if slices.Contains(c.providerNames(), providerAWS) {
		env = append(env, c.cloudEnv()...)
	}
	return spec{
		name: ControllerName, binary: c.options.Controller,
		purposes: []string{"karpenter-health", "karpenter-metrics", "karpenter-dashboard"},
		health:   "http://" + s.Address("karpenter-health") + "/readyz",
		args:     args,
		env:      env,
	}
}
