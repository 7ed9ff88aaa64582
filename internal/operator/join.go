package operator

import (
	"fmt"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/multiplex"
)

// Join combines providers into one with all their clouds and controllers. A single provider is returned as it is. The error
// is that of multiplex.New.
func Join(all ...Provider) (Provider, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	var out Provider
	var parts []cloud.Provider
	for _, p := range all {
		parts = append(parts, p.Cloud)
		out.Controllers = append(out.Controllers, p.Controllers...)
	}
	joined, err := multiplex.New(parts...)
	if err != nil {
		return Provider{}, fmt.Errorf("use several providers: %w", err)
	}
	out.Cloud = joined
	return out, nil
}
