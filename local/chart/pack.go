package chart

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// Pack writes the chart in dir to an archive in the directory out, as helm package does, and returns the path of the
// archive. version is a semantic version without "v". It becomes the version of the chart and its appVersion.
func Pack(dir, version, out string) (string, error) {
	if _, err := semver.StrictNewVersion(version); err != nil {
		return "", fmt.Errorf("version %q: %w, want one such as 1.2.3", version, err)
	}
	c, err := loader.LoadDir(dir)
	if err != nil {
		return "", fmt.Errorf("load chart: %w", err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = version, version
	file, err := chartutil.Save(c, out)
	if err != nil {
		return "", fmt.Errorf("pack chart: %w", err)
	}
	return file, nil
}
