package chart

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// granted returns the rights "verb group/resource" that the ClusterRole of the core grants.
func granted(t *testing.T, set string) []string {
	t.Helper()
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(set), &v); err != nil {
		t.Fatal(err)
	}
	files, err := Render(load(t, "karpenter"), release(v))
	if err != nil {
		t.Fatal(err)
	}
	var rights []string
	for _, document := range strings.Split("\n"+files["karpenter/templates/clusterrole-core.yaml"], "\n---") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						rights = append(rights, verb+" "+group+"/"+resource)
					}
				}
			}
		}
	}
	return rights
}

// A setting has the permissions that it needs, whether a value or a variable of controller.env sets it. The content of controller.envFrom
// is unknown. So with any entry there, the permissions for the only such setting that can come from there are granted.
func TestPermissionsOfVariables(t *testing.T) {
	overlays := []string{"list karpenter.sh/nodeoverlays", "watch karpenter.sh/nodeoverlays", "patch karpenter.sh/nodeoverlays/status"}
	buffers := []string{
		"list autoscaling.x-k8s.io/capacitybuffers", "watch autoscaling.x-k8s.io/capacitybuffers", "patch autoscaling.x-k8s.io/capacitybuffers/status",
		"list /podtemplates", "watch /podtemplates", "list apps/deployments", "watch apps/deployments", "list /resourcequotas", "watch /resourcequotas",
	}
	workloads := []string{"list apps/replicasets", "watch apps/replicasets", "list apps/statefulsets", "watch apps/statefulsets"}
	services := []string{"list /services", "watch /services", "list /replicationcontrollers", "watch /replicationcontrollers"}
	spread := slices.Concat(workloads, services)
	always := []string{"list resource.k8s.io/resourceslices", "watch resource.k8s.io/resourceslices"}
	devices := []string{"list resource.k8s.io/resourceclaims", "list resource.k8s.io/resourceclaimtemplates"}
	reviews := []string{"create authentication.k8s.io/tokenreviews", "create authorization.k8s.io/subjectaccessreviews"}
	gates := func(value string) string {
		return `{settings: {clusterName: demo}, controller: {env: [{name: A}, {name: FEATURE_GATES, value: "` + value + `"}]}}`
	}
	variables := func(names ...string) string {
		return `{settings: {clusterName: demo}, controller: {env: [{name: ` + strings.Join(names, "}, {name: ") + `}]}}`
	}
	for name, tt := range map[string]struct {
		set          string
		has, doesNot []string
	}{
		"defaults":            {`{settings: {clusterName: demo}}`, always, slices.Concat(overlays, buffers, spread, devices, reviews, []string{"patch /pods"})},
		"overlays by value":   {`{settings: {clusterName: demo, featureGates: {nodeOverlay: true}}}`, overlays, buffers},
		"overlays by env":     {gates("NodeOverlay=true"), overlays, buffers},
		"buffers by env":      {gates("NodeOverlay=false, CapacityBuffer = True"), slices.Concat(buffers, workloads), slices.Concat(overlays, services)},
		"buffers by value":    {`{settings: {clusterName: demo, featureGates: {capacityBuffer: true}}}`, slices.Concat(buffers, workloads), services},
		"spread by value":     {`{settings: {clusterName: demo, schedulerConfig: "podTopologySpread: {}"}}`, spread, buffers},
		"spread by env":       {`{settings: {clusterName: demo}, controller: {env: [{name: SCHEDULER_CONFIG, value: "{}"}]}}`, spread, buffers},
		"spread by a secret":  {`{settings: {clusterName: demo}, controller: {envFrom: [{secretRef: {name: a}}]}}`, spread, slices.Concat(overlays, buffers)},
		"deletion cost":       {gates("StaticCapacity=true,PodDeletionCostManagement=1"), []string{"patch /pods"}, buffers},
		"dashboard by env":    {variables("DASHBOARD_PORT"), devices, reviews},
		"its readers by env":  {variables("DASHBOARD_PORT", "DASHBOARD_AUTHENTICATION"), slices.Concat(devices, reviews), spread},
		"metrics by env":      {variables("METRICS_AUTHENTICATION", "METRICS_TLS"), reviews, devices},
		"gates of other name": {gates("NoNodeOverlay=true,CapacityBuffers=true"), always, slices.Concat(overlays, buffers)},
	} {
		t.Run(name, func(t *testing.T) {
			rights := granted(t, tt.set)
			for _, right := range tt.has {
				if !slices.Contains(rights, right) {
					t.Errorf("not granted: %s", right)
				}
			}
			for _, right := range tt.doesNot {
				if slices.Contains(rights, right) {
					t.Errorf("granted without need: %s", right)
				}
			}
		})
	}
}
