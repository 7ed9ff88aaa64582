package aws_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/time/rate"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// long skips a test that takes minutes, unless KARPENTER_LONG is set.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes; set KARPENTER_LONG=1")
	}
}

// A thousand concurrent launches with heavily throttled APIs: each is launched once, in few calls.
func TestThousandLaunchesThrottled(t *testing.T) {
	for name, throttles := range map[string][]control.Throttle{
		"as EC2 documents it": nil,
		"harder": {
			{Op: "CreateFleet", Rate: 0.5, Burst: 1}, {Op: "DescribeInstances", Rate: 1, Burst: 2},
			{Op: "CreateLaunchTemplate", Rate: 0.5, Burst: 1}, {Op: "DescribeLaunchTemplates", Rate: 1, Burst: 1},
		},
	} {
		t.Run(name, func(t *testing.T) { launchThousand(t, throttles) })
	}
}

func launchThousand(t *testing.T, throttles []control.Throttle) {
	long(t)
	const claims = 1000
	w := newWorld(t)
	w.clock = patientClock{}
	p := w.start(t)
	if err := w.control.ThrottleAsEC2(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, throttle := range throttles {
		if err := w.control.SetThrottle(t.Context(), throttle); err != nil {
			t.Fatal(err)
		}
	}
	for n := range claims {
		w.uids = n // the fake API server needs different UIDs
		c := w.claim(fmt.Sprintf("claim-%d", n))
		w.store(t, c)
	}
	start := time.Now()
	var wg sync.WaitGroup
	again := rate.NewLimiter(100, 100) // the rate limit of the controller's work queue
	for n := range claims {
		c := w.load(t, fmt.Sprintf("claim-%d", n))
		wg.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				_, err := p.Create(ctx, c)
				cancel()
				if err == nil || t.Context().Err() != nil {
					return
				}
				if err := again.Wait(t.Context()); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	calls, err := w.control.Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	count, refused := map[string]int{}, 0
	for _, c := range calls {
		count[c.Action]++
		if c.Status == http.StatusServiceUnavailable {
			refused++
		}
	}
	if alive := len(w.alive(t)); alive != claims {
		t.Errorf("%d instances for %d claims", alive, claims)
	}
	if n := count["CreateFleet"] + count["CreateLaunchTemplate"] + count["DescribeLaunchTemplates"] + count["DescribeInstances"]; n > claims/4 {
		t.Errorf("%d calls for %d launches: %v", n, claims, count)
	}
	t.Logf("%d launches in %.1fs; %d calls refused; %v", claims, time.Since(start).Seconds(), refused, count)
}

// Of ten thousand messages that are received by HTTP, none is lost.
func TestTenThousandMessages(t *testing.T) {
	long(t)
	const messages = 10_000
	w := newWorld(t)
	p := w.startWith(t, func(c *aws.Config) { c.Settings.InterruptionQueue = clusterName })
	var ids []string
	for n := range 50 {
		ids = append(ids, instanceID(w.running(t, p, fmt.Sprintf("claim-%d", n), "on-demand")))
	}
	client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: awssdk.String(w.url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	where, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: awssdk.String(clusterName)})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < messages; n += 10 {
		in := &sqs.SendMessageBatchInput{QueueUrl: where.QueueUrl}
		for k := range 10 {
			in.Entries = append(in.Entries, sqstypes.SendMessageBatchRequestEntry{
				Id: awssdk.String(fmt.Sprint(k)), MessageBody: awssdk.String(strings.ReplaceAll(
					`{"version":"0","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","time":"2026-11-21T12:00:00Z","detail":{"instance-id":"ID"}}`,
					"ID", ids[(n+k)%len(ids)])),
			})
		}
		if _, err := client.SendMessageBatch(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	left := func() string {
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: where.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"All"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes["ApproximateNumberOfMessages"] + "+" + out.Attributes["ApproximateNumberOfMessagesNotVisible"]
	}
	rounds := 0
	for ; left() != "0+0"; rounds++ {
		if rounds > 100 {
			t.Fatalf("%s messages left after %d rounds", left(), rounds)
		}
		w.reconcile(t, "interruption", "")
	}
	for n := range 50 {
		if w.load(t, fmt.Sprintf("claim-%d", n)).DeletionTimestamp.IsZero() {
			t.Errorf("claim-%d stays", n)
		}
	}
	t.Logf("%d messages in %.1fs, %d rounds", messages, time.Since(start).Seconds(), rounds)
}
