package cost

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// OwnerOf returns the workload of the pod as Kind/name. The Deployment of a ReplicaSet and the CronJob of a Job are derived
// from the name, because these controllers append a hash or a number to their own name. A pod without a controller is
// its own owner.
func OwnerOf(p *model.Pod) string {
	o := p.Owner()
	if o == nil {
		return "Pod/" + p.Object.Name
	}
	switch o.Kind {
	case "ReplicaSet":
		hash := p.Object.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok && hash != "" && name != "" {
			return "Deployment/" + name
		}
	case "Job":
		if i := strings.LastIndexByte(o.Name, '-'); i > 0 && scheduledTime(o.Name[i+1:]) {
			return "CronJob/" + o.Name[:i]
		}
	}
	return o.Kind + "/" + o.Name
}

// scheduledTime reports whether the text is the suffix of a Job of a CronJob: the scheduled time in minutes since 1970.
func scheduledTime(text string) bool {
	return len(text) == 8 && strings.Trim(text, "0123456789") == ""
}
