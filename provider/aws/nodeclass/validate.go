package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
)

// validate checks settings that contradict each other, and whether launches are possible with the results of all
// earlier steps.
func (s *Status) validate(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	kind := awsv1.ConditionTypeValidationSucceeded
	if catalog.FamilyOf(class).Name == awsv1.AMIFamilyAL2023 {
		_, err := s.Cluster.CIDR(ctx)
		if fault.Transient(err) {
			return 0, fmt.Errorf("read service CIDR: %w", err)
		}
		if err != nil {
			s.no(class, kind, awsv1.ReasonClusterCIDRResolutionFailed,
				"Cluster service CIDR could not be resolved (needed by AL2023): "+err.Error())
			return nothingAgain, nil
		}
	}
	if f := judgeKubelet(class, s.Expressions); f.Reason != "" {
		s.no(class, kind, f.Reason, f.Message)
		return 0, nil
	}
	if waiting, status := unready(class); len(waiting) > 0 {
		condition.Set(class, metav1.Condition{
			Type: kind, Status: status, Reason: awsv1.ReasonDependenciesNotReady,
			Message: "Waiting for " + strings.Join(waiting, ", "),
		}, s.Clock.Now())
		return 0, nil
	}
	if s.Expressions && s.Evaluate != nil {
		if err := s.Evaluate(class); err != nil {
			s.no(class, kind, awsv1.ReasonKubeletExpressionEvaluationFailed, "spec.kubelet: "+oneLine(err))
			return 0, nil
		}
	}
	if f := judgeTags(class); f.Reason != "" {
		s.no(class, kind, f.Reason, f.Message)
		return 0, nil
	}
	if s.Check != nil {
		f, err := s.Check(ctx, class)
		switch {
		case err != nil:
			return 0, fmt.Errorf("check permissions: %w", err)
		case f.Again > 0:
			s.unsure(class, kind, f.Message)
			return f.Again, nil
		case f.Reason != "":
			s.no(class, kind, f.Reason, f.Message)
			return validationAgain, nil
		}
	}
	s.yes(class, kind)
	return validationAgain, nil
}

// Judge checks the settings of the class without calls of AWS. It returns the first mistake, or the zero Finding if
// there is none. expressions is true if the kubelet section may contain expressions.
func Judge(class *awsv1.EC2NodeClass, expressions bool) Finding {
	if f := judgeKubelet(class, expressions); f.Reason != "" {
		return f
	}
	return judgeTags(class)
}

// judgeKubelet is Judge for spec.kubelet.
func judgeKubelet(class *awsv1.EC2NodeClass, expressions bool) Finding {
	config, err := kubelet.Parse(class.Spec.Kubelet)
	var badExpression *kubelet.ExpressionError
	compiled := !errors.As(err, &badExpression)
	switch {
	case err != nil && compiled:
		return Finding{Reason: awsv1.ReasonInvalidKubeletConfiguration, Message: "spec.kubelet: " + oneLine(err)}
	case len(config.Expressions) > 0 && !expressions:
		return Finding{Reason: awsv1.ReasonKubeletExpressionsDisabled, Message: fmt.Sprintf(
			"Expressions in spec.kubelet.%s are not enabled; fix: set AWS feature gate NodeClassCEL=true, or write a value", strings.Join(config.Expressions, ", spec.kubelet."))}
	case !compiled:
		return Finding{Reason: awsv1.ReasonKubeletExpressionInvalid, Message: "spec.kubelet: " + oneLine(err)}
	}
	if f := supported(catalog.FamilyOf(class), config); f != "" {
		return Finding{Reason: awsv1.ReasonUnsupportedKubeletConfiguration, Message: "spec.kubelet: " + f}
	}
	return Finding{}
}

// judgeTags is Judge for spec.tags.
func judgeTags(class *awsv1.EC2NodeClass) Finding {
	if err := instances.CheckTags(class); err != nil {
		return Finding{Reason: awsv1.ReasonTagValidationFailed, Message: oneLine(err)}
	}
	return Finding{}
}

// supported returns a text about kubelet settings that the family does not support, empty if there are none.
func supported(f catalog.Family, c kubelet.Config) string {
	if f.RawKubelet || f.Name == awsv1.AMIFamilyCustom {
		return ""
	}
	switch fields := c.Unmanaged(); {
	case len(fields) > 0:
		return fmt.Sprintf("%s cannot be set on %s", strings.Join(fields, ", "), f.Name)
	case c.PodsPerCore != nil && f.Name == awsv1.AMIFamilyBottlerocket:
		return "podsPerCore cannot be set on Bottlerocket"
	case len(c.ClusterDNS) > 1:
		return fmt.Sprintf("clusterDNS takes one address on %s", f.Name)
	}
	return ""
}

// unready returns the conditions that validation requires and that are not True, and the status that the condition
// ValidationSucceeded gets because of them.
func unready(class *awsv1.EC2NodeClass) (waiting []string, status metav1.ConditionStatus) {
	status = metav1.ConditionUnknown
	for _, kind := range []string{
		awsv1.ConditionTypeAMIsReady, awsv1.ConditionTypeInstanceProfileReady,
		awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeSubnetsReady, awsv1.ConditionTypePlacementGroupReady,
	} {
		c := condition.Get(class, kind)
		if c != nil && c.Status == metav1.ConditionTrue {
			continue
		}
		if c != nil && c.Status == metav1.ConditionFalse {
			status = metav1.ConditionFalse
		}
		waiting = append(waiting, kind)
	}
	return waiting, status
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
