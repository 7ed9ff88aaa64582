package operator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
)

// steerable is the minor version of Kubernetes 1 from which on the scheduler goes by nominations that are not its own.
const steerable = 35

// unsteered is the share of a new node that is left free where pods go where the scheduler likes. Scattered pods were seen to
// take a fifth more nodes than planned; but slack is paid for by every plan, and the second round only where it is needed.
const unsteered = 0.05

// slackOf returns the share of new nodes that plans leave free, by the API server's version.
func slackOf(mgr ctrl.Manager, log logr.Logger) float64 {
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err == nil {
		info, asked := kube.Discovery().ServerVersion()
		if err = asked; err == nil {
			slack, unread := slackFor(info.Major, info.Minor)
			if err = unread; err == nil {
				if slack > 0 {
					log.Info("plans leave slack: the scheduler of this version does not go by nominations",
						"version", info.GitVersion, "share", slack)
				}
				return slack
			}
		}
	}
	log.Error(err, "plans leave no slack: the version of Kubernetes is not known")
	return 0
}

// slackFor is slackOf for a version such as 1 and 34+.
func slackFor(major, minor string) (float64, error) {
	n, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	if err != nil || major != "1" {
		return 0, fmt.Errorf("version %q.%q is none of Kubernetes 1", major, minor)
	}
	if n < steerable {
		return unsteered, nil
	}
	return 0, nil
}
