package aws_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// onlyConnections returns a Retryer that repeats calls whose connection broke, as the one of the provider does, and does not repeat others.
// So a test need not wait for the delays after errors of EC2.
func onlyConnections() awssdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableConnectionError{}}
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
	})
}

// A controller that restarts while EC2 fails starts nevertheless, because it must be able to drain nodes. It launches
// nodes when EC2 works again.
func TestStartInOutage(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	p := w.startWith(t, func(c *aws.Config) {
		c.AWS.Retryer = onlyConnections
		w.order(t, w.control.Fail(t.Context(), control.Fail{Op: "ec2:DescribeInstanceTypes", Code: "InternalError"}))
	})
	w.store(t, w.claim("one"))
	if i, err := p.Create(t.Context(), w.load(t, "one")); err == nil {
		t.Fatalf("%s was launched without instance types", i.ProviderID)
	}
	w.order(t, w.control.ClearFaults(t.Context(), "*"))
	w.reconcile(t, "providers.instancetype", "")
	create(t, p, w.load(t, "one"))
}

// EKS does not describe the cluster after a restart of the controller. The class stays ready. A launch fails, because AL2023
// needs the service CIDR, but its claim is kept and launched when EKS answers.
func TestClusterNotDescribedAfterRestart(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	p := w.startWith(t, func(c *aws.Config) {
		c.AWS.Retryer = onlyConnections
		c.Settings.ClusterEndpoint = "https://api.test:6443"
		w.order(t, w.control.Fail(t.Context(), control.Fail{Op: "DescribeCluster", Code: "ServerException", Status: http.StatusInternalServerError}))
	})
	if c := w.validation(t); c.Status != metav1.ConditionTrue {
		t.Errorf("while EKS fails the condition is %+v", c)
	}
	w.store(t, w.claim("one"))
	var failed *cloud.LaunchError
	_, err := p.Create(t.Context(), w.load(t, "one"))
	if !errors.As(err, &failed) || failed.Reason != awsv1.ReasonClusterCIDRResolutionFailed {
		t.Errorf("create: %v, want a LaunchError with the reason %s", err, awsv1.ReasonClusterCIDRResolutionFailed)
	}
	w.order(t, w.control.ClearFaults(t.Context(), "*"))
	create(t, p, w.load(t, "one"))
}
