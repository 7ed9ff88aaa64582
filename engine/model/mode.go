package model

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// Mode returns the mode of the pool: that of its annotation, or else global. An unknown value is treated as DryRun,
// because the annotation is used to restrict a pool.
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
