package model

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// Mode returns which disruption the controller may execute in the pool: Auto, Approve or DryRun. It is the value of the
// pool's annotation, or the parameter global if the pool has no annotation. An empty value means Auto. An unknown value is
// treated as DryRun, because users set the annotation to restrict a pool.
func (p *Pool) Mode(global string) string {
	mode, ok := p.Object.Annotations[apiv1.EnforcementModeAnnotationKey]
	if !ok {
		mode = global
	}
	switch mode {
	case "", apiv1.ModeAuto:
		return apiv1.ModeAuto
	case apiv1.ModeApprove:
		return apiv1.ModeApprove
	}
	return apiv1.ModeDryRun
}
