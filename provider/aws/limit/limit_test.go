package limit

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
)

// Throttling of one operation slows down this operation and no other.
func TestOneLimiterAnOperation(t *testing.T) {
	throttled, calls := true, map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		action := r.Form.Get("Action")
		calls[action]++
		if action == "DescribeSubnets" && throttled {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slow</Message></Error></Errors></Response>`)
			return
		}
		fmt.Fprintf(w, `<%sResponse><requestId>1</requestId></%sResponse>`, action, action)
	}))
	defer server.Close()
	m := NewMetrics(prometheus.NewRegistry(), clock.RealClock{})
	limiter := New(m, clock.RealClock{})
	client := ec2.New(ec2.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Retryer: limiter,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	client = ec2.New(client.Options(), func(o *ec2.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
	if _, err := client.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err == nil || !strings.Contains(err.Error(), "RequestLimitExceeded") {
		t.Fatalf("throttled: %v", err)
	}
	sent := calls["DescribeSubnets"]
	if sent != 3 {
		t.Errorf("sent %d times", sent)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client.DescribeSubnets(short, &ec2.DescribeSubnetsInput{}); err == nil || calls["DescribeSubnets"] != sent {
		t.Errorf("right after, it is sent again (%d times) with %v", calls["DescribeSubnets"], err)
	}
	if _, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil || calls["DescribeVpcs"] != 1 {
		t.Errorf("another operation: %v, sent %d times", err, calls["DescribeVpcs"])
	}
	for what, got := range map[string]float64{
		"calls":    testutil.ToFloat64(m.requests.WithLabelValues("EC2", "DescribeSubnets", "RequestLimitExceeded")) - 1,
		"attempts": testutil.ToFloat64(m.attempts.WithLabelValues("EC2", "DescribeSubnets", "RequestLimitExceeded")) - 3,
		"good":     testutil.ToFloat64(m.requests.WithLabelValues("EC2", "DescribeVpcs", "ok")) - 1,
		"retries":  testutil.ToFloat64(m.retries.WithLabelValues("EC2", "DescribeSubnets")) - 2,
	} {
		if got != 0 {
			t.Errorf("%s counted %+v off", what, got)
		}
	}
}
