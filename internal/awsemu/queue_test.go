package awsemu

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// queueURL returns the URL of the interruption queue.
func (l *lab) queueURL() *string {
	l.t.Helper()
	return must[*sqs.GetQueueUrlOutput](l.t)(l.sqs.GetQueueUrl(bg(), &sqs.GetQueueUrlInput{QueueName: aws.String("demo")})).QueueUrl
}

// receive receives up to ten messages without waiting.
func (l *lab) receive() []sqstypes.Message {
	l.t.Helper()
	return must[*sqs.ReceiveMessageOutput](l.t)(l.sqs.ReceiveMessage(bg(), &sqs.ReceiveMessageInput{
		QueueUrl: l.queueURL(), MaxNumberOfMessages: 10, VisibilityTimeout: 20,
	})).Messages
}

func TestQueue(t *testing.T) {
	l := newLab(t)
	_, err := l.sqs.GetQueueUrl(bg(), &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
	var missing *sqstypes.QueueDoesNotExist
	if !errors.As(err, &missing) {
		t.Errorf("error is %v, want QueueDoesNotExist", err)
	}
	url := l.queueURL()
	for _, body := range []string{"one", "two"} {
		must[*sqs.SendMessageOutput](t)(l.sqs.SendMessage(bg(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}))
	}
	got := l.receive()
	if len(got) != 2 || *got[0].Body != "one" || *got[1].Body != "two" {
		t.Fatalf("received %+v", got)
	}
	if again := l.receive(); len(again) != 0 {
		t.Errorf("messages in flight were received again: %+v", again)
	}
	must[*sqs.DeleteMessageOutput](t)(l.sqs.DeleteMessage(bg(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: got[0].ReceiptHandle}))
	l.clock.Step(20 * time.Second)
	if again := l.receive(); len(again) != 1 || *again[0].Body != "two" {
		t.Errorf("after the visibility timeout: %+v, want two", again)
	}
	l.clock.Step(5 * time.Minute)
	if late := l.receive(); len(late) != 0 {
		t.Errorf("after the retention: %+v, want nothing", late)
	}
}

func TestQueueBatches(t *testing.T) {
	l := newLab(t)
	url := l.queueURL()
	sent := must[*sqs.SendMessageBatchOutput](t)(l.sqs.SendMessageBatch(bg(), &sqs.SendMessageBatchInput{QueueUrl: url, Entries: []sqstypes.SendMessageBatchRequestEntry{
		{Id: aws.String("a"), MessageBody: aws.String("1")}, {Id: aws.String("b"), MessageBody: aws.String("2")},
	}}))
	if len(sent.Successful) != 2 {
		t.Errorf("sent %+v", sent)
	}
	var entries []sqstypes.DeleteMessageBatchRequestEntry
	for _, m := range l.receive() {
		entries = append(entries, sqstypes.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
	}
	if out := must[*sqs.DeleteMessageBatchOutput](t)(l.sqs.DeleteMessageBatch(bg(), &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: entries})); len(out.Successful) != 2 {
		t.Errorf("deleted %+v", out)
	}
	attributes := must[*sqs.GetQueueAttributesOutput](t)(l.sqs.GetQueueAttributes(bg(), &sqs.GetQueueAttributesInput{QueueUrl: url})).Attributes
	if attributes["ApproximateNumberOfMessages"] != "0" || attributes["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("attributes are %v", attributes)
	}
}

func TestQueueLongPoll(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		url := l.queueURL()
		bodies := make(chan int, 2)
		poll := func(ctx context.Context) {
			out, err := l.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
			if err != nil {
				bodies <- -1
				return
			}
			bodies <- len(out.Messages)
		}
		go poll(bg())
		synctest.Wait()
		must[*sqs.SendMessageOutput](t)(l.sqs.SendMessage(bg(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("late")}))
		if n := <-bodies; n != 1 {
			t.Errorf("a poll that waited got %d messages, want 1", n)
		}
		go poll(bg())
		synctest.Wait()
		l.clock.Step(20 * time.Second)
		if n := <-bodies; n != 0 {
			t.Errorf("a poll that ended got %d messages, want 0", n)
		}
	})
}

func TestSpotInterruption(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	at := choice{typ: "m7i.large", zone: "us-east-1a"}
	id := l.launch(l.fleet("lt-x", spot, 1, at))[0]
	other := l.launch(l.fleet("lt-x", onDemand, 1, at))[0]
	l.clock.Step(time.Minute)
	kinds := func() (out []string) {
		for _, m := range l.receive() {
			var e struct {
				Kind   string `json:"detail-type"`
				Detail map[string]string
			}
			if err := json.Unmarshal([]byte(*m.Body), &e); err != nil {
				t.Fatal(err)
			}
			out = append(out, e.Kind+" "+e.Detail["instance-id"]+" "+e.Detail["state"]+e.Detail["instance-action"])
			must[*sqs.DeleteMessageOutput](t)(l.sqs.DeleteMessage(bg(), &sqs.DeleteMessageInput{QueueUrl: l.queueURL(), ReceiptHandle: m.ReceiptHandle}))
		}
		return out
	}
	check := func(want ...string) {
		t.Helper()
		got := kinds()
		if len(got) != len(want) {
			t.Fatalf("events are %q, want %q", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("event %d is %q, want %q", i, got[i], want[i])
			}
		}
	}
	const state = "EC2 Instance State-change Notification "
	check(state+id+" pending", state+other+" pending", state+id+" running", state+other+" running")
	if _, err := l.Interrupt(control.Interrupt{Instance: other}); err == nil {
		t.Error("an on-demand instance was interrupted")
	}
	ids, err := l.Interrupt(control.Interrupt{Random: 3})
	if err != nil || len(ids) != 1 || ids[0] != id {
		t.Fatalf("interrupted %v (%v), want the only spot instance", ids, err)
	}
	check("EC2 Spot Instance Interruption Warning " + id + " terminate")
	l.clock.Step(2*time.Minute - time.Second)
	if s := l.state(id); s != "running" {
		t.Errorf("a second before the end it is %s, want running", s)
	}
	l.clock.Step(time.Second)
	if s := l.state(id); s != "shutting-down" {
		t.Errorf("two minutes after the warning it is %s, want shutting-down", s)
	}
	check(state + id + " shutting-down")
	l.clock.Step(2 * time.Second)
	check(state + id + " terminated")
	if err := l.Event(control.Event{Instance: other, Kind: "rebalance"}); err != nil {
		t.Fatal(err)
	}
	check("EC2 Instance Rebalance Recommendation " + other + " ")
}
