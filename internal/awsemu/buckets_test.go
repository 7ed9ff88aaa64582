package awsemu

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// passing calls until the first refusal and returns the number of successful calls. It counts in the emulator, because a call
// whose connection breaks costs a token, too, and the SDK repeats it.
func (l *lab) passing(call func() error) (n int) {
	l.t.Helper()
	before := int64(len(l.Calls(0)))
	for range 2000 {
		switch err := call(); code(err) {
		case "RequestLimitExceeded":
			for _, c := range l.Calls(before) {
				if c.Code != "RequestLimitExceeded" {
					n++
				}
			}
			return n
		case "", "DryRunOperation":
			if err != nil && code(err) == "" {
				l.t.Fatal(err)
			}
		default:
			l.t.Fatal(err)
		}
	}
	l.t.Fatal("nothing is refused")
	return 0
}

// Every API has the bucket that the documentation defines, and the bucket is refilled at the documented rate. An empty bucket
// does not affect the others.
func TestDocumentedThrottling(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Throttle = "ec2" })
	ctx := t.Context()
	filter := []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"running"}}}
	dry := aws.Bool(true)
	for _, tt := range []struct {
		name      string
		size, fil int // calls until the bucket is empty, and calls after two more seconds
		call      func() error
	}{
		{"a describe call", 100, 40, func() error {
			_, err := l.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
			return err
		}},
		{"one without filter and pages", 50, 20, func() error {
			_, err := l.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
			return err
		}},
		{"the same with a filter", 100, 40, func() error {
			_, err := l.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: filter})
			return err
		}},
		{"a change", 50, 10, func() error {
			_, err := l.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("none"), DryRun: dry})
			return err
		}},
		{"tags", 100, 20, func() error {
			_, err := l.ec2.CreateTags(ctx, &ec2.CreateTagsInput{
				Resources: []string{"i-0"}, Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}, DryRun: dry,
			})
			return err
		}},
		{"ends", 100, 10, func() error {
			_, err := l.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0"}, DryRun: dry})
			return err
		}},
	} {
		if n := l.passing(tt.call); n != tt.size {
			t.Errorf("%s: %d calls go through at once, want %d", tt.name, n, tt.size)
		}
		l.clock.Step(2 * time.Second)
		if n := l.passing(tt.call); n != tt.fil {
			t.Errorf("%s: %d calls go through after two seconds, want %d", tt.name, n, tt.fil)
		}
	}
}

// Tokens for resources are counted by instances. A call for more instances than there are tokens takes none.
func TestResourceTokens(t *testing.T) {
	levels := map[string]level{}
	cost := func(n float64) []draw {
		return []draw{{"calls", limit{5, 2}, 1}, {"instances", limit{1000, 2}, n}}
	}
	if spend(levels, cost(900), start) || !spend(levels, cost(200), start) || spend(levels, cost(100), start) {
		t.Errorf("900, 200 and 100 of a thousand: %v are left", levels)
	}
	if !spend(levels, cost(3), start.Add(time.Second)) || spend(levels, cost(2), start.Add(time.Second)) {
		t.Errorf("a second later: %v are left", levels)
	}
}

// The documented throttling can be switched on and off. Limits that are set in addition apply first.
func TestThrottlingOnOrder(t *testing.T) {
	l := newLab(t)
	client := control.Client{BaseURL: l.url}
	describe := func() error {
		_, err := l.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
		return err
	}
	if err := client.ThrottleAsEC2(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := l.passing(describe); n != 100 {
		t.Errorf("%d calls go through", n)
	}
	if err := client.ClearFaults(t.Context(), "*"); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := describe(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(Config{Throttle: "fast"}); err == nil {
		t.Error("a throttle of an unknown bucket is accepted")
	}
}
