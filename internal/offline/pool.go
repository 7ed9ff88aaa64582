package offline

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// DefaultPool is the name of the NodePool that is used if the input has none.
const DefaultPool = "default"

// defaultPool returns an on-demand NodePool without limits and expiry. Its disruption settings are the defaults of the API
// server.
func defaultPool() *apiv1.NodePool {
	now := time.Duration(0)
	return &apiv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: DefaultPool, UID: DefaultPool},
		Spec: apiv1.NodePoolSpec{
			Template: apiv1.NodeClaimTemplate{Spec: apiv1.NodeClaimTemplateSpec{
				NodeClassRef: &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: DefaultPool},
				Requirements: []apiv1.NodeSelectorRequirementWithMinValues{{
					Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn,
					Values: []string{apiv1.CapacityTypeOnDemand},
				}},
			}},
			Disruption: apiv1.Disruption{
				ConsolidateAfter:    apiv1.NillableDuration{Duration: &now},
				ConsolidationPolicy: apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
				Budgets:             []apiv1.Budget{{Nodes: "10%"}},
			},
		},
	}
}

// addPools adds the pools and their instance types. A pool is ready unless the input has its EC2NodeClass with condition
// Ready=False.
func (a *assembly) addPools() error {
	pools := manifest.Of[*apiv1.NodePool](a.set)
	if len(pools) == 0 {
		pools = []*apiv1.NodePool{defaultPool()}
	}
	classes := manifest.Of[*awsv1.EC2NodeClass](a.set)
	for _, p := range pools {
		if err := p.Validate(a.catalogue.rules()); err != nil {
			a.refusePool(p, err)
			continue
		}
		a.judgeReady(p, classOf(p, classes))
		a.Delta.Pools = append(a.Delta.Pools, p)
	}
	overlays := manifest.Of[*overlayv1alpha1.NodeOverlay](a.set)
	if a.off.Overlays {
		overlays = nil
	}
	supply, err := a.catalogue.Supply(a.Delta.Pools, classes, overlays)
	a.Delta.Types = supply.Types
	a.Warnings = append(a.Warnings, supply.Warnings...)
	return err
}

// refusePool adds the errors of a pool. The text of each error has the form "field: message".
func (a *assembly) refusePool(p *apiv1.NodePool, err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Errors() []error }); ok {
		all = joined.Errors()
	}
	for _, one := range all {
		field, what, _ := strings.Cut(one.Error(), ": ")
		a.errs = append(a.errs, a.set.Error(p, "NodePool", field, what))
	}
}

// judgeReady sets the condition Ready of the pool.
func (a *assembly) judgeReady(p *apiv1.NodePool, class *awsv1.EC2NodeClass) {
	status, message := metav1.ConditionTrue, ""
	if class != nil {
		if c := condition.Get(class, apiv1.ConditionTypeReady); c != nil && c.Status == metav1.ConditionFalse {
			status, message = metav1.ConditionFalse, condition.Cause(class)
			a.warn("NodePool %s is not ready, because EC2NodeClass %s is not: %s", p.Name, class.Name, message)
		}
	}
	p.Status.Conditions = []metav1.Condition{{
		Type: apiv1.ConditionTypeReady, Status: status, Reason: apiv1.ConditionTypeReady, Message: message,
		LastTransitionTime: metav1.NewTime(a.Now),
	}}
}
