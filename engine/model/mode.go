package model

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// Mode returns the mode of the pool: its annotation, or global without one. An unknown value counts as DryRun, because
// its author wanted to restrict the pool.
func (p *Pool) Mode(global string) string {
	mode, ok := p.Object.Annotations[apiv1.ModeAnnotationKey]
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
