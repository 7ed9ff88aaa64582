package chart

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Environment returns the environment of the first container of the Deployment in rendered files, as NAME=value. Variables
// with valueFrom are omitted.
func Environment(files map[string]string) ([]string, error) {
	for name, text := range files {
		if !strings.HasSuffix(name, "/deployment.yaml") {
			continue
		}
		var d appsv1.Deployment
		if err := utilyaml.Unmarshal([]byte(text), &d); err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		var env []string
		for _, v := range d.Spec.Template.Spec.Containers[0].Env {
			if v.ValueFrom == nil {
				env = append(env, v.Name+"="+v.Value)
			}
		}
		return env, nil
	}
	return nil, fmt.Errorf("find environment: the chart has no Deployment")
}
