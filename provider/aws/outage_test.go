package aws_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// onlyConnections returns a Retryer that repeats calls whose connection broke, as the one of the provider does, and does not repeat others.
// So a test need not wait for the delays after errors of EC2.
func onlyConnections() awssdk.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableConnectionError{}}
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
	})
}

// unreadTypes answers calls for instance types itself while instead is set. All other calls are made.
type unreadTypes struct {
	instead func(*http.Request) (*http.Response, error)
}

func (u *unreadTypes) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.instead != nil && actionOf(r) == "DescribeInstanceTypes" {
		return u.instead(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A controller that restarts while EC2 fails or cannot be reached starts nevertheless, because it must be able to drain nodes. It
// launches nodes when EC2 works again.
func TestStartInOutage(t *testing.T) {
	fails := func(err error) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	for name, instead := range map[string]func(*http.Request) (*http.Response, error){
		"EC2 fails":         nil,
		"no connection":     fails(syscall.ECONNREFUSED),
		"no answer in time": fails(context.DeadlineExceeded),
		"page of a proxy": func(r *http.Request) (*http.Response, error) {
			page := httptest.NewRecorder()
			page.WriteHeader(http.StatusForbidden)
			page.WriteString("<html>Sign in</html>")
			answer := page.Result()
			answer.Request = r
			return answer, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start(t)
			connection := &unreadTypes{instead: instead}
			p := w.startWith(t, func(c *aws.Config) {
				c.AWS.Retryer, c.AWS.HTTPClient = onlyConnections, &http.Client{Transport: connection}
				if instead == nil {
					w.order(t, w.control.Fail(t.Context(), control.Fail{Op: "ec2:DescribeInstanceTypes", Code: "InternalError"}))
				}
			})
			w.store(t, w.claim("one"))
			if i, err := p.Create(t.Context(), w.load(t, "one")); err == nil {
				t.Fatalf("%s was launched without instance types", i.ProviderID)
			}
			w.order(t, w.control.ClearFaults(t.Context(), "*"))
			connection.instead = nil
			w.reconcile(t, "providers.instancetype", "")
			create(t, p, w.load(t, "one"))
		})
	}
}

// A controller whose permissions are missing does not start: no later call succeeds until the account is changed.
func TestStartWithoutPermission(t *testing.T) {
	w := newWorld(t)
	w.order(t, w.control.Fail(t.Context(), control.Fail{Op: "ec2:DescribeInstanceTypes", Code: fault.Unauthorized}))
	if _, err := aws.New(t.Context(), w.config(t)); !fault.Denied(err) {
		t.Errorf("error %v, want one of a missing permission", err)
	}
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
