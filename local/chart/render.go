package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// A Release is an installation of a chart.
type Release struct {
	Name, Namespace string
	Values          map[string]any
	// Kubernetes is the version of Kubernetes for templates, such as "v1.36.3".
	Kubernetes string
	// APIs are the APIs of the cluster that are not part of Kubernetes, such as
	// "monitoring.coreos.com/v1/ServiceMonitor".
	APIs []string
}

// Render returns the files that helm template renders, and the notes, by name. Files without content are left out.
func Render(c *chartv2.Chart, r Release) (map[string]string, error) {
	version, err := common.ParseKubeVersion(r.Kubernetes)
	if err != nil {
		return nil, fmt.Errorf("parse Kubernetes version: %w", err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	capabilities.APIVersions = append(capabilities.APIVersions, r.APIs...)
	if err := chartutil.ProcessDependencies(c, r.Values); err != nil {
		return nil, fmt.Errorf("process dependencies: %w", err)
	}
	values, err := util.ToRenderValues(c, r.Values, common.ReleaseOptions{
		Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true,
	}, capabilities)
	if err != nil {
		return nil, fmt.Errorf("merge values: %w", err)
	}
	files, err := engine.Render(c, values)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	for name, text := range files {
		if strings.TrimSpace(text) == "" || strings.HasSuffix(name, ".tpl") {
			delete(files, name)
		}
	}
	return files, nil
}

// Join returns rendered manifests as one stream, sorted by file name.
func Join(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", name, strings.Trim(files[name], "\n"))
	}
	return b.String()
}
