// Package logs logs with keys and messages that break the rule.
package logs

import (
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func wrong(log logr.Logger, kind string) {
	log.Info("deleted node", "name", "n")                       // want key "name" is reserved
	log.Error(errors.New("no"), "failed", "error", "again")     // want key "error" is reserved
	log.WithValues("controller", "x").Info("begun")             // want key "controller" is reserved
	log.V(1).Info("deleted node", "Node", "n")                  // want key "Node" has no ObjectRef
	log.Info("deleted node", kind, "n")                         // want key "" has no ObjectRef
	log.Info("computed plan", "pricePerHour", 1)                // want key "pricePerHour" is not kebab-case
	log.Info("Deleted node")                                    // want message begins with a capital letter
	log.Info("deleted node.", "NodeClaim", klog.KRef("", "c1")) // want message ends with a stop or has a line break
}

func fine(log logr.Logger, kind string, more []any) {
	log.Info("EC2 answers", "instance-id", "i-1", "error", "late", kind, klog.KRef("", "n"))
	log.Error(nil, "failed", "ConfigMap", klog.KRef("ns", "m"), "message-kind", "x")
	log.Info("deleted node", more...)
}
